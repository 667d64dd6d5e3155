import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import { anySignal } from '../../../model/signals.js';
import type { ServiceLogs } from '../../../schema/cluster/service-logs.js';
import { cleanLine } from '../../clean-text.js';
import type { ServerOptions } from '../../configuration.js';
import { drained } from '../../drained.js';
import { CliError, exitCodes } from '../../errors.js';
import { catchInterrupt } from '../../interrupts.js';
import type { Output } from '../../output.js';
import { describeRun, type NodeRun, runOnNode } from '../../run-on-node.js';
import type { Session } from '../../session.js';
import type { ClusterStatus } from '../../../schema/output/status.js';
import { requireCluster } from '../cluster-verb.js';
import { describeCluster } from '../describe-cluster.js';
import { findTargetOf } from '../node-target.js';
import { fittingNodes, type NodeSelection, selectNodes } from '../select-nodes.js';

export interface ServiceLogsOptions extends ServerOptions, NodeSelection {
  readonly service?: string;
  /** Lines of each node. */
  readonly tail?: number;
  readonly follow?: boolean;
  /** Of logs of tasks only; since: ms before now. */
  readonly action?: string;
  readonly operation?: string;
  readonly since?: number;
  readonly level?: string;
}

const defaultLines = 100;
/** Nodes that are read at once. */
const atOnce = 20;
/** Nodes that are followed at once: each takes a connection. */
const mostFollowed = 100;
const [firstPauseMs, longestPauseMs] = [1_000, 15_000];
/** How often nodes that joined or left are found. */
const nodesEveryMs = 10_000;

/** What only the logs of tasks have. */
const onlyTasks = ['action', 'operation', 'since', 'level', 'services'] as const;

/**
 * Shows what a service writes on its nodes, by its `logs` in the file. The lines of several nodes come as they arrive, each
 * after the name of its node.
 */
export async function serviceLogs(
  session: Session,
  cluster: string,
  node: string | undefined,
  options: ServiceLogsOptions,
): Promise<{ readonly code: number }> {
  const unfit = onlyTasks.find((option) => options[option] !== undefined);
  if (unfit !== undefined)
    throw new CliError('Usage', `--${unfit} selects logs of tasks; it has no effect with --source service`);
  const { service, follow = false, tail = defaultLines } = options;
  if (service === undefined) throw new CliError('Usage', '--source service needs --service, such as app');
  await requireCluster(session, cluster);
  const logs = await declaredLogs(session, cluster, service);
  const status = await session.client.status(cluster);
  const selection = { nodes: options.nodes, services: [service], groups: options.groups };
  const nodes = selectNodes(status, { ...selection, node });
  const { signal, release } = catchInterrupt();
  const reading: Reading = { session, cluster, service, logs, tail, signal, isOne: nodes.length === 1 };
  try {
    if (follow)
      return await followNodes({ ...reading, isOne: node !== undefined }, status, { ...selection, node });
    const limit = pLimit(atOnce);
    const ends = await Promise.all(
      placesOf(status, nodes).map((place) => limit(() => readNode(reading, place))),
    );
    if (signal.aborted) return { code: exitCodes.interrupted };
    return { code: ends.every(Boolean) ? exitCodes.ok : exitCodes.failed };
  } finally {
    release();
  }
}

interface Place {
  readonly node: string;
  /** Provider account of its machine. */
  readonly account: string;
}

function placesOf({ nodes }: ClusterStatus, ids: readonly string[]): readonly Place[] {
  const wanted = new Set(ids);
  return nodes.flatMap(({ nodeId, provider }) =>
    wanted.has(nodeId) ? [{ node: nodeId, account: provider ?? '' }] : [],
  );
}

/** @throws CliError NotFound for an unknown service, or one whose logs the file does not declare. */
async function declaredLogs({ client }: Session, cluster: string, service: string): Promise<ServiceLogs> {
  const services = (await client.spec(cluster))?.services ?? {};
  const next = `heddle get ${cluster}`;
  if (!Object.hasOwn(services, service))
    throw new CliError(
      'NotFound',
      `cluster ${cluster} has no service ${cleanLine(service)}; it has ${Object.keys(services).join(', ') || 'none'}`,
      { next },
    );
  const logs = services[service]?.logs;
  if (logs !== undefined) return logs;
  throw new CliError(
    'NotFound',
    `the file of ${cluster} does not say where the logs of ${service} are: add services.${service}.logs, such as {files: [/var/log/${service}.log]}, and apply it`,
    { next },
  );
}

interface Reading {
  readonly session: Session;
  readonly cluster: string;
  readonly service: string;
  readonly logs: ServiceLogs;
  /** Lines of each node. */
  readonly tail: number;
  readonly signal: AbortSignal;
  readonly isOne: boolean;
}

/** Reads what is there. Returns whether that was possible. */
async function readNode(reading: Reading, place: Place): Promise<boolean> {
  const end = await runLogs(reading, place, { lines: reading.tail, follow: false });
  if (end.exitCode === 0) return true;
  if (!reading.signal.aborted) reading.session.output.note(describeRun(end));
  return false;
}

/** Follows the nodes of the service as they join and leave, until it is interrupted or the cluster is gone. */
async function followNodes(
  reading: Reading,
  first: ClusterStatus,
  selection: NodeSelection & { readonly node: string | undefined },
): Promise<{ readonly code: number }> {
  const { session, cluster, signal } = reading;
  const { output } = session;
  const gone = new AbortController();
  const over = anySignal([signal, gone.signal]);
  const followed = new Map<string, AbortController>();
  const followers: Promise<void>[] = [];
  let known = first;
  let isFull = false;
  const take = (status: ClusterStatus): void => {
    known = status;
    const places = placesOf(status, fittingNodes(status, selection));
    const present = new Set(places.map(({ node }) => node));
    for (const [node, leaving] of followed) {
      if (present.has(node)) continue;
      output.note(`${node} has left the cluster`);
      leaving.abort();
      followed.delete(node);
    }
    const joined = places.filter(({ node }) => !followed.has(node));
    for (const place of joined.slice(0, mostFollowed - followed.size)) {
      const leaving = new AbortController();
      followed.set(place.node, leaving);
      const own = { ...reading, signal: anySignal([over, leaving.signal]) };
      followers.push(followNode(own, place, refresh));
    }
    if (places.length > mostFollowed && !isFull)
      output.note(
        `only ${mostFollowed} of ${places.length} nodes are followed; select some with --nodes or --groups`,
      );
    isFull = places.length > mostFollowed;
  };
  let refreshing: Promise<void> | undefined;
  const refresh = async (): Promise<void> => {
    refreshing ??= statusOfSame(session, cluster, known).then((status) => {
      refreshing = undefined;
      if (status === undefined) gone.abort();
      else take(status);
    });
    return refreshing;
  };
  take(first);
  while (!over.aborted) {
    await pause(nodesEveryMs, undefined, { signal: over }).catch(() => undefined);
    if (!over.aborted) await refresh();
  }
  await Promise.all(followers);
  if (signal.aborted) return { code: exitCodes.interrupted };
  output.note(`cluster ${cluster} is gone`);
  return { code: exitCodes.ok };
}

/** Undefined if the cluster is gone, also if another one has its name. Without an answer, what was known stays. */
async function statusOfSame(
  session: Session,
  cluster: string,
  known: ClusterStatus,
): Promise<ClusterStatus | undefined> {
  try {
    await describeCluster(session, cluster);
    const status = await session.client.status(cluster);
    return status.uid === known.uid ? status : undefined;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    return code === 'NotFound' ? undefined : known;
  }
}

/**
 * Connects again until the command ends by itself or is aborted.
 * @param refresh finds out whether the node has left.
 */
async function followNode(reading: Reading, place: Place, refresh: () => Promise<void>): Promise<void> {
  const { session, tail, signal } = reading;
  const { output } = session;
  let lines = tail;
  let pauseMs = firstPauseMs;
  // What was written while there was no connection is not repeated.
  const onOutput = (): void => void (lines = 0);
  while (!signal.aborted) {
    const began = performance.now();
    const end = await runLogs(reading, place, { lines, follow: true, onOutput });
    if (!signal.aborted) await refresh();
    if (signal.aborted) return;
    output.note(describeRun(end));
    // Above 128 it was killed, as by a reboot.
    if (end.exitCode !== null && end.exitCode <= 128) {
      output.note(`${place.node} is no longer followed: what reads its logs has ended`);
      return;
    }
    if (performance.now() - began > longestPauseMs) pauseMs = firstPauseMs;
    output.note(`${place.node}: reads again in ${pauseMs / 1_000} s`);
    await pause(pauseMs, undefined, { signal }).catch(() => undefined);
    pauseMs = Math.min(longestPauseMs, pauseMs * 2);
  }
}

interface RunLogs {
  readonly lines: number;
  readonly follow: boolean;
  readonly onOutput?: () => void;
}

function runLogs(
  { session, cluster, service, logs, signal, isOne }: Reading,
  { node, account }: Place,
  { lines, follow, onOutput }: RunLogs,
): Promise<NodeRun> {
  const { output } = session;
  const shown = isOne ? 'plain' : 'prefixed';
  return runOnNode(node, () => findTargetOf(session, { cluster, node, account }), {
    command: commandOf(logs),
    folder: `heddle-logs-${randomUUID()}`,
    sudo: logs.sudo,
    variables: { LINES: String(lines), FOLLOW: follow ? '1' : '' },
    signal,
    untilAborted: true,
    ...(onOutput === undefined ? {} : { onOutput }),
    output: output.json
      ? (stream, text) => recordLine(output, { node, service, stream, text }, signal)
      : shown,
  });
}

async function recordLine(output: Output, line: object, signal: AbortSignal): Promise<void> {
  output.record(line);
  await drained(process.stdout, signal);
}

/** Paths have no characters that a shell would take for others, except those that stand for several files. */
function commandOf({ files, command = '' }: ServiceLogs): string {
  if (files === undefined) return command;
  return `exec tail -q -n "$LINES" \${FOLLOW:+-F} -- ${files.join(' ')}`;
}
