import { existsSync } from 'node:fs';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { call } from '../../client/call.js';
import type { Config } from '../../config/index.js';
import {
  exportRemedy,
  HistoryError,
  replayHistories,
  runningHistories,
  type HistoryToReplay,
  type ReplayFault,
  type ReplayFaultKind,
  type ReplayOptions,
  type ReplayReport,
} from '../../replay/index.js';
import { readTextFile } from '../../schema/read-text.js';
import { KeyError, type KeyRing } from '../../secrets/keys.js';
import { cleanLine } from '../clean-text.js';
import { CliError, exitCodes } from '../errors.js';
import { chooseServer, openKeys, readConfiguration, type ServerOptions } from '../configuration.js';
import { createOutput, type Output } from '../output.js';
import type { Session } from '../session.js';
import { localVerb, verb } from '../verb.js';

interface ReplayVerbOptions extends ServerOptions {
  readonly allRunning?: boolean;
  /** Path of a workflow bundle. */
  readonly bundle?: string;
}

/** Whether this build can continue these workflows. Replays exports from files, or the running workflows. */
export async function replay(files: readonly string[], options: ReplayVerbOptions): Promise<number> {
  const running = options.allRunning === true;
  if (running === files.length > 0) {
    throw new CliError('Usage', 'give files with histories, or --all-running for what runs on the server', {
      next: 'heddle replay --help',
    });
  }
  // Our own output replaces the SDK's log.
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  return running ? replayRunning(options) : replayFiles(files, options);
}

const replayRunning = verb(
  async ({ config, temporal, output }: Session, options: ReplayVerbOptions) => {
    const histories = runningHistories(temporal, {
      call: (what, make) => call(temporal, what, make, { waitMs: fetchMs }),
    });
    const how = replayOptions(config, openKeys(config), temporal.options.namespace, options);
    return replayAll(histories, how, output);
  },
  {
    print: (output, summary) => {
      if (summary.total === 0) output.line('no Heddle workflow is running here');
      printTotal(output, summary);
    },
    // A running workflow that cannot continue is a failure, also one of a type that this build lacks.
    exitCode: ({ histories }) => exitOf(histories, ['not-a-history', 'undecryptable']),
  },
);

/** Histories can be long. */
const fetchMs = 60_000;

const replayFiles = localVerb(
  async (files: readonly string[], options: ReplayVerbOptions) => {
    const config = readConfiguration(options);
    const { namespace } = await chooseServer(config, options);
    const how = replayOptions(config, keysOrNone(config), namespace, options);
    return replayAll(readFiles(files), how, createOutput(options));
  },
  {
    print: printTotal,
    exitCode: ({ histories }) => exitOf(histories, ['not-a-history', 'undecryptable', 'unknown-type']),
  },
);

function* readFiles(files: readonly string[]): Generator<HistoryToReplay> {
  for (const source of files) {
    const reading = readTextFile(source, maxFileBytes);
    yield {
      source,
      history: reading.ok ? reading.text : new HistoryError(`cannot be read: ${reading.wrong}`),
    };
  }
}

/** The server ends a history at 50 MB; in JSON, with base64 inside, it is longer. */
const maxFileBytes = 256 * 1024 * 1024;

/** Exports in plaintext need no keys. */
function keysOrNone(config: Config): KeyRing | undefined {
  try {
    return openKeys(config);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    process.stderr.write(`warning: ${error.message}\n`);
    return undefined;
  }
}

function replayOptions(
  { encryption }: Config,
  keys: KeyRing | undefined,
  namespace: string,
  { bundle }: ReplayVerbOptions,
): ReplayOptions {
  if (bundle !== undefined && !existsSync(bundle))
    throw new CliError(
      'Usage',
      `workflow bundle ${cleanLine(bundle)} does not exist; a build writes it to dist/workflow-bundle.js`,
    );
  return { namespace, keys, onPlaintext: encryption === 'optional' ? 'pass' : undefined, bundlePath: bundle };
}

interface Summary {
  readonly histories: readonly ReplayReport[];
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
  readonly next?: string;
}

/** Prints a line for each history when it is done. */
async function replayAll(
  sources: Iterable<HistoryToReplay> | AsyncIterable<HistoryToReplay>,
  how: ReplayOptions,
  output: Output,
): Promise<Summary> {
  const histories: ReplayReport[] = [];
  for await (const report of replayHistories(sources, how)) {
    histories.push(report);
    printReport(output, report);
  }
  const total = histories.length;
  const ok = histories.filter((report) => report.ok).length;
  return { histories, total, ok, failed: total - ok, next: nextStep(histories) };
}

function printTotal(output: Output, { total, ok, failed, next }: Summary): void {
  if (next === undefined) return;
  output.line(
    `${total} ${total === 1 ? 'history' : 'histories'}: ${ok} ${ok === 1 ? 'replays' : 'replay'}, ${failed} ${failed === 1 ? 'does' : 'do'} not`,
  );
  output.line(`next: ${next}`);
}

function printReport(output: Output, { ok, source, workflowId, runId, events, error }: ReplayReport): void {
  const name = [source, workflowId && `${workflowId} (${runId})`].filter(Boolean).join(': ');
  const mark = output.style(ok ? 'green' : 'red', ok ? 'ok  ' : 'FAIL');
  const text = error === undefined ? `${events} events` : describeFault(error);
  output.raw(`${mark} ${cleanLine(name)}: ${cleanLine(text)}`);
}

function describeFault({ kind, message }: ReplayFault): string {
  return kind === 'nondeterminism' ? `does not replay: ${message}` : message;
}

/** What helps most comes first. Undefined when nothing was replayed. */
function nextStep(reports: readonly ReplayReport[]): string | undefined {
  if (reports.length === 0) return undefined;
  const has = (...kinds: readonly ReplayFaultKind[]): boolean =>
    reports.some(({ error }) => error !== undefined && kinds.includes(error.kind));
  if (has('nondeterminism', 'failure'))
    return 'do not run workers of this build for these workflows, and guard the change with patched(); see docs/guides/upgrading.md';
  if (has('unknown-type')) return 'run a build that has these workflow types; see docs/guides/upgrading.md';
  if (has('undecryptable'))
    return 'heddle keys import FILE, with the keys of where they were written; --namespace names the namespace they were written in';
  if (has('not-a-history')) return exportRemedy;
  return 'start workers of this build, one at a time; see docs/guides/upgrading.md';
}

/** @param badInput what says nothing about the build. */
function exitOf(reports: readonly ReplayReport[], badInput: readonly ReplayFaultKind[]): number {
  const kinds = reports.flatMap(({ error }) => (error === undefined ? [] : [error.kind]));
  if (kinds.some((kind) => !badInput.includes(kind))) return exitCodes.failed;
  return kinds.length > 0 ? exitCodes.usage : exitCodes.ok;
}
