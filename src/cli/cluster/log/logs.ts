import { setTimeout as sleep } from 'node:timers/promises';
import { cleanLine, cleanText } from '../../clean-text.js';
import { CliError, exitCodes } from '../../errors.js';
import { catchInterrupt } from '../../interrupts.js';
import { findOperation } from '../../../client/index.js';
import { groupOfNode } from '../../../model/names.js';
import type { LogArchive } from '../../../store/store.js';
import type { Output } from '../../output.js';
import type { Session } from '../../session.js';
import { verb } from '../../verb.js';
import { formatClock } from '../../format.js';
import { describeLatest } from '../describe-cluster.js';
import { printFailures } from '../failure-text.js';
import { openArchive } from './open-archive.js';
import { describeSelection, type NodeOptions, selectNodes } from '../select-nodes.js';
import { ClusterLogs, readLogs, type Wanted } from './cluster-logs.js';
import { mergeLogs, type PlacedEntry } from './log-files.js';
import { levels, type LogLevel, type LogsOptions } from './options.js';
import { serviceLogs } from './service-logs.js';

const followMs = 300;
/** An object store is asked less often. */
const followRemoteMs = 2_000;

/** What ran on a cluster's nodes and what it printed, by time. */
export const logs = verb(
  async (session: Session, name: string, node: string | undefined, options: LogsOptions) => {
    const { output, config } = session;
    if (options.source === 'service') return serviceLogs(session, name, node, options);
    const { follow: isFollowing = false } = options;
    const { uid } = await describeLatest(session, name);
    if (uid === undefined)
      throw new CliError(
        'NotFound',
        `the server does not know the uid of ${name} yet; try again when a worker has started the cluster`,
        { next: 'heddle doctor' },
      );
    const archive = openArchive(config);
    const { service, action, operation, since, tail } = options;
    const operationUid = await uidOfOperation(session, name, options);
    const isNode = await nodeFilter(session, name, options);
    const logs = new ClusterLogs(archive, {
      clusterUid: uid,
      node,
      isNode,
      operation,
      operationUid,
      service,
      action,
    });
    const from = since === undefined ? undefined : Date.now() - since;
    const isShown = shownBy(options.level ?? 'info', from);
    if (isFollowing) await logs.beginToFollow();
    const hasLogs = await readLogs(logs, { from, tail, isShown }, (placed) => print(output, placed));
    if (!hasLogs && !(await logs.hasAny())) {
      await refuseUnknown(session, name, node, options);
      if (!isFollowing) return reportNone(session, name, { archive, node, isNode, options });
    }
    if (isFollowing) await follow(output, logs, isShown);
    return { code: isFollowing ? exitCodes.interrupted : exitCodes.ok };
  },
  // Each log line is a record.
  { document: () => undefined, exitCode: ({ code }) => code },
);

/**
 * Also nodes that were removed since, unless they are selected by service: workers know those of present
 * nodes.
 */
async function nodeFilter(
  { client }: Session,
  name: string,
  { nodes, services, groups }: NodeOptions,
): Promise<((node: string) => boolean) | undefined> {
  if (services !== undefined) {
    const selected = selectNodes(await client.status(name), { nodes, services, groups });
    return (node) => selected.includes(node);
  }
  if (nodes === undefined && groups === undefined) return undefined;
  return (node) =>
    (nodes === undefined || nodes.includes(node)) &&
    (groups === undefined || groups.includes(groupOfNode(node)));
}

/** Of the operation that the cluster has; undefined if it does not remember one with the number. */
async function uidOfOperation(
  { client }: Session,
  name: string,
  { operation: id }: LogsOptions,
): Promise<string | undefined> {
  if (id === undefined) return undefined;
  const known = await client.summary(name).catch(() => undefined);
  return known === undefined ? undefined : findOperation(known, id)?.uid;
}

/** Which entries are printed. */
function shownBy(level: LogLevel, from: number | undefined): Wanted['isShown'] {
  const first = from === undefined ? '' : new Date(from).toISOString();
  return (entry) =>
    entry.t >= first &&
    levels.findIndex((known) => known === (entry.level ?? 'info')) >= levels.indexOf(level);
}

/** Polls for new lines and new logs until Ctrl-C. */
async function follow(output: Output, logs: ClusterLogs, isShown: Wanted['isShown']): Promise<void> {
  const { signal, release } = catchInterrupt();
  logs.skipRest();
  try {
    while (!signal.aborted) {
      const pauseMs = logs.archive.lagMs > 0 ? followRemoteMs : followMs;
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      for await (const placed of mergeLogs(await logs.grown()))
        if (isShown(placed.entry)) print(output, placed);
    }
  } finally {
    release();
  }
}

function print(output: Output, { source, entry }: PlacedEntry): void {
  const { stored: _stored, ...task } = source;
  output.record({ ...task, ...entry });
  const title = `${source.service === undefined ? '' : `${source.service}/`}${source.action}`;
  const head = `${formatClock(new Date(entry.t))} ${cleanLine(source.node)} ${cleanLine(title)}`;
  if (entry.stream !== undefined) {
    const sign = entry.stream === 'stdout' ? '|' : '!';
    if (entry.bytes !== undefined)
      output.line(`${head} info: not UTF-8, some bytes are shown as \uFFFD; --json has all of them`);
    for (const line of cleanText(entry.text ?? '')
      .replace(/\n$/, '')
      .split('\n'))
      output.raw(`${head} ${sign} ${line}`);
    return;
  }
  const attributes = entry.attributes === undefined ? '' : ` ${cleanLine(JSON.stringify(entry.attributes))}`;
  output.line(`${head} ${entry.level ?? 'info'}: ${entry.message ?? ''}${attributes}`);
}

/** @throws CliError NotFound for a node or a service that the cluster does not have. */
async function refuseUnknown(
  { client }: Session,
  name: string,
  node: string | undefined,
  { service, nodes: only, groups }: LogsOptions,
): Promise<void> {
  const known = await client.status(name).catch(() => undefined);
  if (known === undefined) return;
  if (only !== undefined || groups !== undefined) selectNodes(known, { nodes: only, groups });
  if (node !== undefined && !known.nodes.some(({ nodeId }) => nodeId === node))
    throw new CliError(
      'NotFound',
      `cluster ${name} has no node ${cleanLine(node)}, and no logs of it are here`,
      { next: `heddle nodes ${name}` },
    );
  const services = Object.keys(known.services);
  if (service !== undefined && !services.includes(service))
    throw new CliError(
      'NotFound',
      `cluster ${name} has no service ${cleanLine(service)}, and no logs of it are here; it has ${services.join(', ') || 'none'}`,
      { next: `heddle nodes ${name}` },
    );
}

interface Missing {
  readonly archive: LogArchive;
  readonly node: string | undefined;
  readonly isNode: ((node: string) => boolean) | undefined;
  readonly options: LogsOptions;
}

/** Without logs here, shows what the cluster itself has recorded. */
async function reportNone({ client, output }: Session, name: string, missing: Missing): Promise<never> {
  const {
    archive,
    node,
    isNode = () => true,
    options: { operation },
  } = missing;
  const known = await client.status(name).catch(() => undefined);
  if (operation !== undefined && known !== undefined && findOperation(known, operation) === undefined)
    throw new CliError(
      'NotFound',
      `cluster ${name} has no record of operation ${cleanLine(operation)}, and no logs of it are here`,
      { next: `heddle history ${name}` },
    );
  const nodes =
    known?.nodes.filter(({ nodeId }) => (node === undefined || nodeId === node) && isNode(nodeId)) ?? [];
  if (known !== undefined) printFailures(output, { ...known, nodes }, Date.now());
  throw new CliError(
    'NotFound',
    archive.lagMs > 0
      ? `${describeMissing(missing)} are in ${archive.place}; run 'heddle task show' to see the end of a task's output.`
      : `${describeMissing(missing)} are on this machine (${archive.place}). ` +
          "Without store.s3 in heddle.yaml they are in the store of the worker that ran the task; run this command there, or run 'heddle task show' to see the end of a task's output.",
    { next: `heddle task show ${name} NODE/SERVICE/ACTION` },
  );
}

/** `no logs of START of web on app-1`. */
function describeMissing({ node, isNode, options }: Missing): string {
  const { service, action, operation } = options;
  const parts = [
    ...(operation === undefined ? [] : [` of operation ${operation}`]),
    ...(action === undefined ? [] : [` of ${action}`]),
    ...(service === undefined ? [] : [` of ${service}`]),
    ...(node === undefined ? [] : [` on ${node}`]),
    ...(isNode === undefined ? [] : [` on nodes that fit ${describeSelection(options)}`]),
  ];
  return cleanLine(`no logs${parts.join('')}`);
}
