import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  workflowInfo,
  type WorkflowInterceptors,
} from '@temporalio/workflow';
import { RetryState } from '@temporalio/common';
import { isEnvelope } from '../model/messages/envelope.js';
import { readRefusal } from '../model/messages/refusal.js';
import { noteKeyLookup, refusalOfResult } from './payload-keys.js';

/**
 * Fails activities and child workflows whose result the codec refused: a worker's codec puts a mark in place
 * of the result, and the workflow must not take the mark for data. A result under a key that is not the workflow's
 * own waits until the key is found. An envelope is a message, so it is refused as a result too.
 */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      scheduleActivity(input, next) {
        const { activityType, seq, options } = input;
        // The server records its outcome in plaintext.
        if (activityType === 'FIND_KEY') {
          noteKeyLookup(seq);
          return next(input);
        }
        return acceptResult(
          next(input),
          (cause) => failActivity(activityType, options.activityId, cause),
          () => refusalOfResult('activity', seq),
        );
      },
      scheduleLocalActivity: (input, next) =>
        acceptResult(next(input), (cause) => failActivity(input.activityType, undefined, cause)),
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

function failActivity(activityType: string, activityId: string | undefined, cause: Error): ActivityFailure {
  return new ActivityFailure('Activity task failed', activityType, activityId, noRetry, undefined, cause);
}

async function acceptResult(
  ended: Promise<unknown>,
  fail: (cause: Error) => Error,
  refusalOfKey: () => Promise<string | undefined> = () => Promise.resolve(undefined),
): Promise<unknown> {
  await Promise.allSettled([ended]);
  const unknownKey = await refusalOfKey();
  if (unknownKey !== undefined) throw fail(refused(`${unknownKey}.`));
  let result: unknown;
  try {
    result = await ended;
  } catch (error) {
    const refusal = refusalIn(error);
    throw refusal === undefined ? error : fail(refused(refusal));
  }
  const refusal = isEnvelope(result) ? 'It is a message.' : readRefusal(result);
  if (refusal !== undefined) throw fail(refused(refusal));
  return result;
}

/** Details of a failure are data, too. */
function refusalIn(error: unknown): string | undefined {
  if (!(error instanceof ActivityFailure || error instanceof ChildWorkflowFailure)) return undefined;
  if (!(error.cause instanceof ApplicationFailure)) return undefined;
  return error.cause.details?.map(readRefusal).find((text) => text !== undefined);
}

function refused(refusal: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`The result was refused. ${refusal}`, 'Internal');
}
