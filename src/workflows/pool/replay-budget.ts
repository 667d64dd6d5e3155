import { workflowInfo } from '@temporalio/workflow';
import type { PoolState } from '../../model/pool/state.js';
import { workflowTaskMs } from '../../model/resumption.js';
import { recorded } from '../recorded.js';
import type { PoolMemory } from './memory.js';

/**
 * A worker without the workflow in its cache replays the whole run before it can answer, within
 * the time of a workflow task. A run whose replay takes longer never gets an answer. So a run
 * ends when its replay takes about a tenth of that time in CPU time.
 */
const replayShare = 0.1;
/** Nodes and requests of a pool above which its next run gets more time for its replay. */
const quickEntries = 200;
/** The server's default, in ms. */
const slowTaskMs = 10_000;
/**
 * Replay time in ms: per recorded input, per node and request then examined, and per work begun on a node.
 */
const replayMs = { input: 0.5, examined: 0.006, batch: 0.3, alone: 4 } as const;

/** Notes what the work on a node adds. */
export function noteReplayOfWork(memory: PoolMemory, how: 'batch' | 'alone'): void {
  memory.replayMs += replayMs[how];
  memory.entries += 1;
}

/**
 * Whether a worker that replays this run would need too long. Recorded inputs are counted, not
 * decision steps: a replay may take the same history in fewer or more steps.
 */
export function isReplayTooLong({ replayMs: workMs, entries }: PoolMemory): boolean {
  const stepsMs = recorded().inputs * (replayMs.input + replayMs.examined * entries);
  return workMs + stepsMs > workflowInfo().taskTimeoutMs * replayShare;
}

/** A short limit: the workflow task of a worker that died goes to another one sooner. */
export function nextTaskTimeoutMs({ nodes, requests }: PoolState): number {
  return Object.keys(nodes).length + Object.keys(requests).length > quickEntries
    ? slowTaskMs
    : workflowTaskMs;
}
