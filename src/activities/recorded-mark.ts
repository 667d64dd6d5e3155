import { setTimeout as wait } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import type { Json } from '../model/json.js';
import { stableJson } from '../model/node/payload.js';
import { anySignal } from '../model/signals.js';
import { PluginError } from '../plugins/errors.js';
import { readMark, type Attempt } from './attempt.js';
import type { ActivityParts } from './parts.js';

/** Longest wait, in ms, until the server shows the mark: heartbeats are sent some seconds apart. */
const patienceMs = 15_000;

export interface RecordedMark {
  readonly mark: Json;
  /** What is noted, for messages. */
  readonly what: string;
}

/**
 * Marks the task, and waits until the server shows the mark, so that every later attempt sees it. Restores
 * the previous mark on failure.
 * @throws PluginError Retryable if the server does not show it.
 */
export async function recordMark(
  attempt: Attempt,
  runs: ActivityParts['runs'],
  { mark, what }: RecordedMark,
): Promise<void> {
  const before = attempt.marked();
  if (isSame(before, mark)) return;
  const { workflowExecution: execution, activityId, attempt: number } = activityInfo();
  attempt.mark(mark);
  attempt.at(`records ${what}`);
  try {
    for (
      let pause = 20, until = performance.now() + patienceMs;
      execution !== undefined && performance.now() < until;
      pause = Math.min(pause * 2, 500)
    ) {
      const run = await runs.describe(execution.workflowId, execution.runId);
      const task = run?.pending.find(
        (pending) => pending.activityId === activityId && pending.attempt === number,
      );
      if (task === undefined) throw new Error('another attempt has taken the place of this one');
      if (isSame(readMark(task.heartbeat), mark)) return;
      await wait(pause, undefined, { signal: anySignal([attempt.signal, attempt.detach]) });
    }
    throw new Error('the Temporal server does not show it');
  } catch (cause) {
    attempt.mark(before ?? null);
    if (attempt.signal.aborted || attempt.detach.aborted) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PluginError('Retryable', `${what} could not be recorded: ${why}`, { cause });
  }
}

/**
 * Marks the task by a heartbeat that the server has taken when this returns: it takes none of an attempt that another one has
 * replaced. The mark stays on failure.
 * @throws PluginError Retryable if the server does not take it.
 */
export async function recordAtOnce(
  { runs }: Pick<ActivityParts, 'runs'>,
  attempt: Attempt,
  { mark, what }: RecordedMark,
): Promise<void> {
  const { workflowExecution, activityId, taskToken: token } = activityInfo();
  attempt.mark(mark);
  if (workflowExecution === undefined) return;
  attempt.at(`records ${what}`);
  const task = { workflowId: workflowExecution.workflowId, activityId, token };
  let why = 'another attempt has taken the place of this one';
  try {
    if (await runs.recordHeartbeat(task, attempt.heartbeat())) return;
  } catch (error) {
    why = error instanceof Error ? error.message : String(error);
  }
  throw new PluginError('Retryable', `${what} could not be recorded: ${why}`);
}

function isSame(one: Json | undefined, other: Json): boolean {
  return one !== undefined && stableJson(one) === stableJson(other);
}
