import type { PoolMemory } from './memory.js';

/**
 * A worker without the workflow in its cache replays the whole run before it can answer, within the server's
 * 10 s. A run whose replay takes longer never gets an answer. So a run ends when its replay takes about one
 * second of CPU.
 */
const mostReplayMs = 1_000;
/** Replay time in ms: per decision step, per examined node and request, and per work begun on a node. */
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
