import { ApplicationFailure, CancelledFailure, ensureApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { activityInfo, CompleteAsyncError, Context } from '@temporalio/activity';
import { jsonBytes, mostSent } from '../model/carried.js';
import { isActivityCall } from '../model/messages/activity-call.js';
import { openMessage, purposeOf } from '../model/messages/envelope.js';
import type { SealedFailure } from '../model/messages/sealed-failure.js';
import type { SealedResult } from '../model/messages/sealed-result.js';
import { isRefusal, type Refusal } from '../model/messages/refusal.js';
import { unknownOutcome } from '../model/node/failure.js';
import { unknownMachineText } from '../model/node/unknown-machine.js';

/** Wait for a missing key, in ms. */
const retryAfterMs = 10_000;

/**
 * Runs an activity only on an input that was sealed for it; a replayed or plaintext input fails
 * before a plugin runs. What comes of the attempt is sealed for the call that the input names:
 * a result or a failure that answers no call, or another one, counts as unknown in the workflow
 * (`src/workflows/genuine-outcomes.ts`).
 */
export const openInputs: ActivityInterceptorsFactory = ({ info: { activityType } }) => ({
  inbound: {
    async execute(input, next): Promise<SealedResult> {
      const began = performance.now();
      refuseUnopened(input.args);
      const opened = openMessage(purposeOf('activity', activityType), input.args, Date.now());
      if (!opened.ok) throw ApplicationFailure.nonRetryable(opened.why, 'Invalid');
      const named = opened.args.at(-1);
      if (!isActivityCall(named))
        throw ApplicationFailure.nonRetryable(`the input of ${activityType} has no call`, 'Invalid');
      const { call, queue } = named;
      try {
        const advice = unknownMachineText(activityType, opened.args);
        refuseMoved(queue, advice);
        checkHeartbeat(advice);
        const result = await next({ ...input, args: opened.args.slice(0, -1) });
        refuseLarge(activityType, result);
        return { heddleAt: endOf(began), heddleCall: call, result };
      } catch (error) {
        throw sealFailure(call, error);
      }
    },
  },
});

/**
 * The time at which the attempt ended, by the server's clock as far as this worker knows it:
 * workflows take time from recorded values alone (`src/workflows/recorded.ts`).
 */
function endOf(began: number): number {
  return activityInfo().currentAttemptScheduledTimestampMs + Math.floor(performance.now() - began);
}

/** Another worker may have the key, and it may still be imported. */
function refuseUnopened(values: readonly unknown[]): void {
  const unopened = values.find(isUnopened);
  if (unopened !== undefined)
    throw ApplicationFailure.create({
      message: unopened.heddleRefused,
      type: 'Retryable',
      nextRetryDelay: retryAfterMs,
    });
}

/**
 * The queue decides on which site, and so with which network and secrets, a task runs. An
 * earlier attempt may have run.
 */
function refuseMoved(queue: string, advice: string): void {
  const { activityType, taskQueue } = activityInfo();
  if (taskQueue !== queue)
    throw ApplicationFailure.nonRetryable(
      `the task of ${activityType} was moved from queue ${queue} to queue ${taskQueue} by a caller of the Temporal server, so it did not run here. The progress of earlier attempts is unknown${advice}`,
      unknownOutcome,
    );
}

/**
 * An attempt reads from the heartbeat how far earlier ones went. One that no worker wrote hides
 * this, so what has been done is unknown.
 */
function checkHeartbeat(advice: string): void {
  const { heartbeatDetails, activityType } = activityInfo();
  refuseUnopened([heartbeatDetails]);
  if (isRefusal(heartbeatDetails))
    throw ApplicationFailure.nonRetryable(
      `the last heartbeat of ${activityType} was not sent by a worker, so its progress is unknown. ${heartbeatDetails.heddleRefused}${advice}`,
      unknownOutcome,
    );
}

/** A cancellation needs no seal: workflows take it for one only if they requested it. */
function sealFailure(call: string, error: unknown): unknown {
  if (error instanceof CompleteAsyncError) return error;
  if (Context.current().cancellationSignal.aborted && isCancellation(error)) return error;
  const failure = ensureApplicationFailure(error);
  const { message, nonRetryable, details, nextRetryDelay, category, cause, stack } = failure;
  const type = failure.type ?? 'Error';
  const isFinal = nonRetryable === true;
  const sealed: SealedFailure = {
    heddleFailed: call,
    type,
    message,
    isFinal,
    attempt: activityInfo().attempt,
    ...(typeof nextRetryDelay === 'number' ? { retryAfterMs: nextRetryDelay } : {}),
    details: details ?? [],
  };
  const outer = ApplicationFailure.create({
    message,
    type,
    nonRetryable: isFinal,
    details: [sealed],
    nextRetryDelay: nextRetryDelay ?? undefined,
    category: category ?? undefined,
    cause,
  });
  outer.stack = stack;
  return outer;
}

function isCancellation(error: unknown): boolean {
  return error instanceof CancelledFailure || (error instanceof Error && error.name === 'AbortError');
}

/**
 * The server refuses larger results only after it has received them, and then the attempt is
 * repeated for long.
 */
function refuseLarge(activityType: string, result: unknown): void {
  const bytes = jsonBytes(result);
  if (bytes > mostSent)
    throw ApplicationFailure.nonRetryable(
      `the result of ${activityType} has ${bytes} bytes as JSON; the limit of a message is ${mostSent}; split it into several requests`,
      'Invalid',
    );
}

function isUnopened(value: unknown): value is Refusal {
  return isRefusal(value) && value.unknownKey !== undefined;
}
