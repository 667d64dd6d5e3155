import type { PoolMemory } from './memory.js';

/**
 * A worker that has not kept the workflow replays the whole run before it can answer, and the server gives it
 * 10 s for that: a run that takes longer never gets an answer. So a run ends long before, when its
 * replay takes a worker about one second of CPU.
 */
const mostReplayMs = 1_000;
/**
 * What a replay takes, in ms: for a step of decisions, for each node and request that it looks at, and for
 * work begun on a node.
 */
const replayMs = { step: 0.5, examined: 0.006, batch: 0.3, alone: 4 } as const;

/** Notes what another step adds to the replay of this run. */
export function noteReplayOfStep(memory: PoolMemory): void {
  const { nodes, requests } = memory.pool;
  memory.replayMs +=
    replayMs.step + replayMs.examined * (Object.keys(nodes).length + Object.keys(requests).length);
}

/** Notes what the work on a node adds. */
export function noteReplayOfWork(memory: PoolMemory, how: 'batch' | 'alone'): void {
  memory.replayMs += replayMs[how];
}

/** Whether a worker that replays this run would need too long. */
export function isReplayTooLong({ replayMs: takesMs }: PoolMemory): boolean {
  return takesMs > mostReplayMs;
}
