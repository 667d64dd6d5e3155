import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ChildWorkflowFailure,
  TimeoutFailure,
  uuid4,
  workflowInfo,
  type ActivityOptions,
  type WorkflowInterceptors,
} from '@temporalio/workflow';
import { RetryState, type Duration } from '@temporalio/common';
import type { ActivityCall } from '../model/messages/activity-call.js';
import { isEnvelope } from '../model/messages/envelope.js';
import { readRefusal } from '../model/messages/refusal.js';
import { readSealedFailure, type SealedFailure } from '../model/messages/sealed-failure.js';
import { contractOf } from '../model/messages/table.js';
import { readSealedResult } from '../model/messages/sealed-result.js';
import { unknownOutcome } from '../model/node/failure.js';
import { unknownMachineText } from '../model/node/unknown-machine.js';
import { hostSkewMs } from '../model/messages/taken.js';
import { noteKeyLookup, refusalOfResult } from './payload-keys.js';
import { recorded } from './recorded.js';

/**
 * What comes back from activities and child workflows: results and failures. Anyone who may call
 * the Temporal server can complete, fail or cancel them, with plaintext or with a payload that
 * it has recorded. So each call of an activity has a name, and only a result or failure that a
 * worker sealed for this call counts; after anything else the outcome is unknown, because the
 * attempt may still run (docs/decisions/0043). A payload under a key that is not the workflow's
 * own waits until the key is found. An envelope is a message, so it is refused as a result too.
 */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      async scheduleActivity(input, next) {
        const { activityType, seq, options } = input;
        const fail = (cause: Error): ActivityFailure =>
          failActivity(cause, { activityType, activityId: options.activityId });
        const refusalOfKey = (): Promise<string | undefined> => refusalOfResult('activity', seq);
        if (contractOf(workflowInfo().workflowType) === undefined)
          return acceptResult(next(input), fail, refusalOfKey);
        const call = uuid4();
        const limits: Limits = { options, from: recorded().at };
        const scope = CancellationScope.current();
        const named: ActivityCall = { call, queue: options.taskQueue ?? workflowInfo().taskQueue };
        const ended = next({ ...input, args: [...input.args, named] });
        // The server records its outcome in plaintext.
        if (activityType === 'FIND_KEY') {
          noteKeyLookup(seq);
          return ended;
        }
        const genuine = ended.catch((error: unknown) => {
          throw openFailure(error, {
            call,
            scope,
            limits,
            advice: unknownMachineText(activityType, input.args),
          });
        });
        const result = readSealedResult(await acceptResult(genuine, fail, refusalOfKey));
        if (result.call !== call) throw fail(refusedResult('It answers no call, or another one.'));
        return result.result;
      },
      scheduleLocalActivity: (input, next) =>
        acceptResult(next(input), (cause) => failActivity(cause, input)),
      async startChildWorkflowExecution(input, next) {
        const [started, ended] = await next(input);
        const {
          workflowType,
          options: { workflowId },
        } = input;
        const result = acceptResult(
          ended,
          (cause) =>
            new ChildWorkflowFailure(workflowInfo().namespace, { workflowId }, workflowType, noRetry, cause),
          () => refusalOfResult('child', input.seq),
        );
        // Not every caller awaits the result, and an unhandled rejection would fail the workflow task.
        result.catch(() => undefined);
        return [started, result];
      },
    },
  ],
});

const noRetry = RetryState.NON_RETRYABLE_FAILURE;

function failActivity(
  cause: Error,
  { activityType, activityId }: { readonly activityType: string; readonly activityId?: string },
): ActivityFailure {
  return new ActivityFailure('Activity task failed', activityType, activityId, noRetry, undefined, cause);
}

/** The limits of a call, and the recorded time at which it was scheduled, in ms since the epoch. */
interface Limits {
  readonly options: Pick<ActivityOptions, 'scheduleToCloseTimeout' | 'scheduleToStartTimeout' | 'retry'>;
  readonly from: number;
}

interface Call {
  readonly call: string;
  readonly scope: CancellationScope;
  readonly limits: Limits;
  /** What a person must do if the outcome is unknown. */
  readonly advice: string;
}

/**
 * A failure as far as it is genuine. A cancellation is one only if this workflow requested it: callers
 * can fail an activity with it at any time, and nodes would be left out of an operation that goes on.
 */
function openFailure(error: unknown, { call, scope, limits, advice }: Call): unknown {
  if (!(error instanceof ActivityFailure)) return error;
  const { message, activityType, activityId, retryState, identity, cause } = error;
  if (cause instanceof CancelledFailure && scope.consideredCancelled) return error;
  const genuine =
    (cause instanceof TimeoutFailure
      ? openTimeout(cause, call, limits)
      : openCause(cause, call, (failure) => isLast(failure, retryState, limits, scope))) ??
    failedUnsealed(activityType, cause, advice);
  return new ActivityFailure(message, activityType, activityId, retryState, identity, genuine);
}

/**
 * Undefined unless the limit that the workflow set has passed. Before that, an attempt may be in the middle
 * of its work, whether a caller reported the timeout or workers were lost until no attempt was left.
 */
function openTimeout(
  { timeoutType, cause }: TimeoutFailure,
  call: string,
  { options, from }: Limits,
): TimeoutFailure | undefined {
  const { scheduleToCloseTimeout: total, scheduleToStartTimeout: wait = total } = options;
  if (!isOver({ options, from }, timeoutType === 'SCHEDULE_TO_START' ? wait : total)) return undefined;
  return Object.assign(new TimeoutFailure('the activity timed out', undefined, timeoutType), {
    cause: openCause(cause, call),
  });
}

/** Whether a limit has passed by the workflow's recorded clock, or will have after a delay. */
function isOver({ options, from }: Limits, limit: Duration | undefined, delayMs = 0): boolean {
  const ms = msOf(limit);
  return ms !== undefined && recorded().at + delayMs - from >= ms - earlyMs(options, ms);
}

/**
 * How long before its limit the server ends an activity at most: it begins no wait for an
 * attempt that would be too late. The clocks of the server's hosts differ, too.
 */
function earlyMs({ retry = {} }: Limits['options'], limit: number): number {
  const { initialInterval, maximumInterval = initialInterval } = retry;
  return Math.min((msOf(maximumInterval) ?? 0) + hostSkewMs, limit / 4);
}

/** `schedule` sets durations as numbers. */
function msOf(duration: Duration | undefined): number | undefined {
  return typeof duration === 'number' ? duration : undefined;
}

/**
 * Whether no attempt follows one that failed so, by what this workflow scheduled. Callers of
 * the server can report a failure of an earlier attempt again as permanent, with another delay,
 * or after they have changed the limits of the activity.
 */
function isLast(
  { isFinal, attempt, retryAfterMs }: SealedFailure,
  retryState: RetryState,
  limits: Limits,
  scope: CancellationScope,
): boolean {
  if (isFinal) return true;
  if (retryState === noRetry) return false;
  const { maximumAttempts = 0 } = limits.options.retry ?? {};
  if (maximumAttempts > 0 && attempt >= maximumAttempts) return true;
  return scope.consideredCancelled || isOver(limits, limits.options.scheduleToCloseTimeout, retryAfterMs);
}

/** Undefined if no attempt of this call failed so, or another one may follow. */
function openCause(
  cause: unknown,
  call: string,
  ends: (failure: SealedFailure) => boolean = () => true,
): ApplicationFailure | undefined {
  if (!(cause instanceof ApplicationFailure)) return undefined;
  const sealed = readSealedFailure(cause.details);
  if (sealed?.heddleFailed !== call || !ends(sealed)) return undefined;
  const { type, message, isFinal, details } = sealed;
  return ApplicationFailure.create({ type, message, nonRetryable: isFinal, details: [...details] });
}

async function acceptResult(
  ended: Promise<unknown>,
  fail: (cause: Error) => Error,
  refusalOfKey: () => Promise<string | undefined> = () => Promise.resolve(undefined),
): Promise<unknown> {
  await Promise.allSettled([ended]);
  const unknownKey = await refusalOfKey();
  if (unknownKey !== undefined) throw fail(refusedResult(`${unknownKey}.`));
  let result: unknown;
  try {
    result = await ended;
  } catch (error) {
    const refusal = refusalIn(error);
    throw refusal === undefined ? error : fail(refusedResult(refusal));
  }
  const refusal = isEnvelope(result) ? 'It is a message.' : readRefusal(result);
  if (refusal !== undefined) throw fail(refusedResult(refusal));
  return result;
}

/** Details of a failure are data, too. */
function refusalIn(error: unknown): string | undefined {
  if (!(error instanceof ActivityFailure || error instanceof ChildWorkflowFailure)) return undefined;
  if (!(error.cause instanceof ApplicationFailure)) return undefined;
  return error.cause.details?.map(readRefusal).find((text) => text !== undefined);
}

function refusedResult(why: string): ApplicationFailure {
  return unknown(`The result was refused. ${why}`);
}

function failedUnsealed(activityType: string, cause: unknown, advice: string): ApplicationFailure {
  const how =
    cause instanceof TimeoutFailure
      ? `timed out (${cause.timeoutType ?? 'UNSPECIFIED'}) before its time limit`
      : 'failed, but not by a worker of this installation';
  return unknown(`${activityType} was reported as ${how}.`, advice);
}

/** @param what Whole sentences. */
function unknown(what: string, more = ''): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `${what} The outcome is unknown, and the attempt may still run${more}`,
    unknownOutcome,
  );
}
