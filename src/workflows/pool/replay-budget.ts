import type { PoolMemory } from './memory.js';

/**
 * A worker that has not kept the workflow replays the whole run before it can answer, and the server gives it
 * 10 s for that: a run that takes longer never gets an answer. So a run ends long before, when its
 * replay takes a worker about one second of CPU.
 */
const mostReplayMs = 1_000;
/**
 * What a replay takes, in ms: for a round of decisions, for each node and request that it looks at, and for
 * work begun on a node.
 */
const replayMs = { round: 0.5, looked: 0.006, together: 0.3, alone: 4 } as const;

/** Notes what another round adds to the replay of this run. */
export function noteReplayOfStep(memory: PoolMemory): void {
  const { nodes, requests } = memory.pool;
  memory.replayMs +=
    replayMs.round + replayMs.looked * (Object.keys(nodes).length + Object.keys(requests).length);
}

/** Notes what the work on a node adds. */
export function noteReplayOfWork(memory: PoolMemory, how: 'together' | 'alone'): void {
  memory.replayMs += replayMs[how];
}

/** Whether a worker that replays this run would need too long. */
export function isReplayTooLong({ replayMs: takesMs }: PoolMemory): boolean {
  return takesMs > mostReplayMs;
}
