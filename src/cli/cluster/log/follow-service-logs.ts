import { setTimeout as pause } from 'node:timers/promises';
import { anySignal } from '../../../model/signals.js';
import type { ClusterStatus } from '../../../schema/output/status.js';
import { exitCodes } from '../../errors.js';
import { describeRun } from '../../run-on-node.js';
import type { Session } from '../../session.js';
import { describeCluster } from '../describe-cluster.js';
import { fittingNodes, type NodeSelection } from '../select-nodes.js';
import { type Place, placesOf, readServiceLog, type Reading } from './read-service-log.js';

/** Nodes that are followed at once: each takes a connection. */
const mostFollowed = 100;
const [firstPauseMs, longestPauseMs] = [1_000, 15_000];
/** How often nodes that joined or left are found. */
const nodesEveryMs = 10_000;

interface Follower {
  readonly place: Place;
  readonly leaving: AbortController;
  /** The log command has ended by itself. */
  isEnded: boolean;
}

/**
 * Follows the nodes of the service as they join and leave, until it is interrupted, the cluster is gone, or
 * the log command has ended on every node.
 */
export async function followServiceLogs(
  reading: Reading,
  first: ClusterStatus,
  selection: NodeSelection,
): Promise<{ readonly code: number }> {
  const { session, cluster, signal } = reading;
  const { output } = session;
  const [gone, allEnded] = [new AbortController(), new AbortController()];
  const over = anySignal([signal, gone.signal, allEnded.signal]);
  const followers = new Map<string, Follower>();
  const running: Promise<void>[] = [];
  let known = first;
  let isFull = false;

  const take = (status: ClusterStatus): void => {
    known = status;
    const places = placesOf(status, fittingNodes(status, selection));
    const present = new Set(places.map(keyOf));
    for (const [key, { place, leaving }] of followers) {
      if (present.has(key)) continue;
      const isReplaced = places.some(({ node }) => node === place.node);
      output.note(`${place.node} ${isReplaced ? 'has a new machine' : 'has left the cluster'}`);
      leaving.abort();
      followers.delete(key);
    }
    const reads = [...followers.values()].filter(({ isEnded }) => !isEnded).length;
    const joined = places.filter((place) => !followers.has(keyOf(place)));
    for (const place of joined.slice(0, mostFollowed - reads)) running.push(follow(place));
    if (places.length > mostFollowed && !isFull)
      output.note(
        `only ${mostFollowed} of ${places.length} nodes are followed; select some with --nodes or --groups`,
      );
    isFull = places.length > mostFollowed;
  };
  const follow = async (place: Place): Promise<void> => {
    const follower: Follower = { place, leaving: new AbortController(), isEnded: false };
    followers.set(keyOf(place), follower);
    const own = anySignal([over, follower.leaving.signal]);
    await followNode({ ...reading, signal: own }, place, refresh);
    if (own.aborted) return;
    follower.isEnded = true;
    // Nodes that joined, and those that had to wait for one to end.
    await refresh();
  };
  let refreshing: Promise<void> | undefined;
  const refresh = async (): Promise<void> => {
    refreshing ??= statusOfSame(session, cluster, known).then((status) => {
      refreshing = undefined;
      if (over.aborted) return;
      if (status === undefined) {
        gone.abort();
        return;
      }
      take(status);
      // Without any node, some may join.
      if (followers.size > 0 && [...followers.values()].every(({ isEnded }) => isEnded)) allEnded.abort();
    });
    return refreshing;
  };

  take(first);
  while (!over.aborted) {
    await pause(nodesEveryMs, undefined, { signal: over }).catch(() => undefined);
    if (!over.aborted) await refresh();
  }
  await Promise.all(running);
  if (signal.aborted) return { code: exitCodes.interrupted };
  output.note(
    gone.signal.aborted
      ? `cluster ${cluster} is gone`
      : `nothing is left to follow: the log command of ${reading.service} has ended on every node`,
  );
  return { code: gone.signal.aborted ? exitCodes.ok : exitCodes.failed };
}

function keyOf({ node, incarnation }: Place): string {
  return `${node}#${incarnation}`;
}

/**
 * Undefined if the cluster is gone, also if another one has its name. Without an answer, what was known
 * stays.
 */
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
    const end = await readServiceLog(reading, place, { lines, follow: true, onOutput });
    if (!signal.aborted) await refresh();
    if (signal.aborted) return;
    output.note(describeRun(end));
    // Above 128 it was killed, as by a reboot.
    if (end.exitCode !== null && end.exitCode <= 128) {
      output.note(`${place.node} is no longer followed: its log command has ended`);
      return;
    }
    if (performance.now() - began > longestPauseMs) pauseMs = firstPauseMs;
    output.note(`${place.node}: reads again in ${pauseMs / 1_000} s`);
    await pause(pauseMs, undefined, { signal }).catch(() => undefined);
    pauseMs = Math.min(longestPauseMs, pauseMs * 2);
  }
}
