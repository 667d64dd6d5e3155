import { setTimeout as wait } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { anySignal } from '../model/signals.js';
import { PluginError } from '../plugins/errors.js';
import { markBefore, readMark, type Attempt } from './attempt.js';
import type { ActivityParts } from './parts.js';

/** Longest wait, in ms, until the server shows the mark: heartbeats are sent some seconds apart. */
const patienceMs = 15_000;

/**
 * Marks the task as `sent`, and waits until the server shows it: from then on every later attempt sees the
 * mark, whatever becomes of this worker.
 * @param what is about to be done, such as `send CREATE`.
 * @throws PluginError Retryable when the server does not show it; nothing may be sent then.
 */
export async function recordSent(attempt: Attempt, runs: ActivityParts['runs'], what: string): Promise<void> {
  // An earlier attempt put it on record, and a failure to do so again must not take it back.
  if (markBefore() === 'sent') return;
  const { workflowExecution: execution, activityId, attempt: number } = activityInfo();
  attempt.mark('sent');
  attempt.at(`records that it is about to ${what}`);
  try {
    for (
      let pause = 20, until = Date.now() + patienceMs;
      execution !== undefined && Date.now() < until;
      pause = Math.min(pause * 2, 500)
    ) {
      const run = await runs.describe(execution.workflowId, execution.runId);
      const task = run?.pending.find(
        (pending) => pending.activityId === activityId && pending.attempt === number,
      );
      if (task === undefined) throw new Error('another attempt has taken the place of this one');
      if (readMark(task.heartbeat) === 'sent') return;
      await wait(pause, undefined, { signal: anySignal([attempt.signal, attempt.detach]) });
    }
    throw new Error('the Temporal server does not show it');
  } catch (cause) {
    attempt.mark('unsent');
    if (attempt.signal.aborted || attempt.detach.aborted) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PluginError(
      'Retryable',
      `nothing was done, because the intent to ${what} could not be recorded first: ${why}`,
      { cause },
    );
  }
}
