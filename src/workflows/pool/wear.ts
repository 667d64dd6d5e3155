import { workflowInfo } from '@temporalio/workflow';
import type { PoolMemory } from './memory.js';

/**
 * A busy pool goes on in a new run when its history has so many events or bytes, or so many updates came; a
 * quiet one earlier, when the server suggests it.
 */
const mostEvents = 12_000;
const mostBytes = 12 * 1024 * 1024;
const mostUpdates = 1_500;

/**
 * A worker that has not kept the workflow replays the whole run before it can answer, and the server gives it
 * 10 s for that: a run that takes longer is never answered by anybody. So a run is over long before, when its
 * replay takes a worker about one second of CPU.
 */
const mostReplayMs = 1_000;
/**
 * What a replay takes, in ms: for a round of decisions, for each node and request that it looks at, and for
 * work begun on a node.
 */
const replayMs = { round: 0.5, looked: 0.006, together: 0.3, alone: 4 } as const;

/** Notes what another round adds to the replay of this run. */
export function wearRound(memory: PoolMemory): void {
  const { nodes, requests } = memory.pool;
  memory.replayMs +=
    replayMs.round + replayMs.looked * (Object.keys(nodes).length + Object.keys(requests).length);
}

/** Notes what the work on a node adds. */
export function wearWork(memory: PoolMemory, how: 'together' | 'alone'): void {
  memory.replayMs += replayMs[how];
}

/** This run has become so long that the next one should go on. */
export function isWorn({
  work,
  updates,
  renew,
  batches,
  replayMs: takesMs,
  carryAt = 0,
}: PoolMemory): boolean {
  if (carryAt > Date.now()) return false;
  const { continueAsNewSuggested, historyLength, historySize } = workflowInfo();
  if (renew === true || historyLength > mostEvents || historySize > mostBytes || updates > mostUpdates)
    return true;
  // Runs that began before there were batches did not count.
  if (batches && takesMs > mostReplayMs) return true;
  return continueAsNewSuggested && Object.keys(work).length === 0;
}
