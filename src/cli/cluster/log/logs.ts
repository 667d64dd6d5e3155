import { setTimeout as sleep } from 'node:timers/promises';
import { cleanLine, cleanText } from '../../clean-text.js';
import type { ServerOptions } from '../../configuration.js';
import { CliError, exitCodes } from '../../errors.js';
import { catchInterrupt } from '../../waiting.js';
import type { Output } from '../../output.js';
import type { Session } from '../../session.js';
import { verb } from '../../verb.js';
import { formatClock } from '../../format.js';
import { describeLatest } from '../describe-cluster.js';
import { printFailures } from '../failure-text.js';
import {
  findLogs,
  logFolderOf,
  LogReader,
  type LogSource,
  mergeLogs,
  type PlacedEntry,
} from './log-files.js';

interface LogsOptions extends ServerOptions {
  readonly service?: string;
  readonly action?: string;
  readonly level: LogLevel;
  readonly follow?: boolean;
}

const levels = ['debug', 'info', 'warn', 'error'] as const;
type LogLevel = (typeof levels)[number];

const followMs = 300;

/** What ran on a cluster's nodes and what it printed, by time, from the store of this machine. */
export const logs = verb(
  async (session: Session, name: string, node: string | undefined, options: LogsOptions) => {
    const { output, config } = session;
    const { level, follow: isFollowing = false } = options;
    const { uid } = await describeLatest(session, name);
    if (uid === undefined)
      throw new CliError(
        'NotFound',
        `the server does not know the uid of ${name} yet; try again when a worker has taken it up`,
        { next: 'heddle doctor' },
      );
    const folder = logFolderOf(config.storeFolder, uid);
    const wanted = (source: LogSource): boolean => isWanted(source, node, options);
    const readers = (await findLogs(folder)).filter(wanted).map((source) => new LogReader(source));
    if (readers.length === 0 && !isFollowing) return reportNone(session, name, { folder, node });
    for await (const placed of mergeLogs(readers)) print(output, placed, level);
    if (isFollowing) await follow(output, { folder, readers, wanted, level });
    return isFollowing ? exitCodes.interrupted : exitCodes.ok;
  },
  // Each log line is a record.
  { document: () => undefined, exitCode: (code) => code },
);

function isWanted(source: LogSource, node: string | undefined, { service, action }: LogsOptions): boolean {
  return (
    (node === undefined || source.node === node) &&
    (service === undefined || source.service === service) &&
    (action === undefined || source.action === action.toUpperCase())
  );
}

interface Followed {
  readonly folder: string;
  readonly readers: LogReader[];
  readonly wanted: (source: LogSource) => boolean;
  readonly level: LogLevel;
}

/** Looks for more, and for new logs, until Ctrl-C. */
async function follow(output: Output, { folder, readers, wanted, level }: Followed): Promise<void> {
  const { signal, release } = catchInterrupt();
  const known = new Set(readers.map(({ source }) => source.file));
  try {
    while (!signal.aborted) {
      await sleep(followMs, undefined, { signal }).catch(() => undefined);
      for (const source of (await findLogs(folder)).filter(
        (found) => wanted(found) && !known.has(found.file),
      )) {
        known.add(source.file);
        readers.push(new LogReader(source));
      }
      for await (const placed of mergeLogs(readers)) print(output, placed, level);
    }
  } finally {
    release();
  }
}

function print(output: Output, { source, entry }: PlacedEntry, level: LogLevel): void {
  const rank = levels.findIndex((known) => known === (entry.level ?? 'info'));
  if (rank < levels.indexOf(level)) return;
  const { file: _file, ...task } = source;
  output.record({ ...task, ...entry });
  const title = `${source.service === undefined ? '' : `${source.service}/`}${source.action}`;
  const head = `${formatClock(new Date(entry.t))} ${cleanLine(source.node)} ${cleanLine(title)}`;
  if (entry.stream !== undefined) {
    const sign = entry.stream === 'stdout' ? '|' : '!';
    for (const line of cleanText(entry.text ?? '')
      .replace(/\n$/, '')
      .split('\n'))
      output.raw(`${head} ${sign} ${line}`);
    return;
  }
  const attributes = entry.attributes === undefined ? '' : ` ${cleanLine(JSON.stringify(entry.attributes))}`;
  output.line(`${head} ${entry.level ?? 'info'}: ${entry.message ?? ''}${attributes}`);
}

/** The logs lie elsewhere, or there are none: what the cluster itself remembers is shown. */
async function reportNone(
  { client, output }: Session,
  name: string,
  { folder, node }: { readonly folder: string; readonly node: string | undefined },
): Promise<never> {
  const known = await client.status(name).catch(() => undefined);
  const nodes = known?.nodes.filter(({ nodeId }) => node === undefined || nodeId === node) ?? [];
  if (known !== undefined && node !== undefined && nodes.length === 0) {
    throw new CliError(
      'NotFound',
      `cluster ${name} has no node ${cleanLine(node)}, and no logs of one are here`,
      { next: `heddle nodes ${name}` },
    );
  }
  if (known !== undefined) printFailures(output, { ...known, nodes }, Date.now());
  throw new CliError(
    'NotFound',
    `no such logs are on this machine: ${folder} holds none. ` +
      "Logs lie in the store of the worker that ran the task; run this there, or see the end of what a task printed with 'heddle task show'.",
    { next: `heddle task show ${name} NODE/SERVICE/ACTION` },
  );
}
