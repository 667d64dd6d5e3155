import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { activityInfo } from '@temporalio/activity';
import { jsonBytes, mostSent } from '../model/carried.js';
import { openMessage, purposeOf } from '../model/messages/envelope.js';
import { withTime, type TimedResult } from '../model/messages/timed-result.js';
import { isRefusal, type Refusal } from '../model/messages/refusal.js';

/** Wait for a missing key, in ms. */
const retryAfterMs = 10_000;

/**
 * Runs an activity only on an input that was sealed for it; a replayed or plaintext input fails before a
 * plugin runs. A result that no message can carry fails the activity. The result gets the time at which the attempt ended, by the server's clock as far as this worker knows
 * it: workflows take time from recorded values alone (`src/workflows/recorded.ts`).
 */
export const openInputs: ActivityInterceptorsFactory = ({
  info: { activityType, currentAttemptScheduledTimestampMs: scheduledAt },
}) => ({
  inbound: {
    async execute(input, next): Promise<TimedResult> {
      const began = performance.now();
      // Another worker may have the key, and it may still be imported.
      const unopened = [...input.args, activityInfo().heartbeatDetails].find(isUnopened);
      if (unopened !== undefined)
        throw ApplicationFailure.create({
          message: unopened.heddleRefused,
          type: 'Retryable',
          nextRetryDelay: retryAfterMs,
        });
      const opened = openMessage(purposeOf('activity', activityType), input.args, Date.now());
      if (!opened.ok) throw ApplicationFailure.nonRetryable(opened.why, 'Invalid');
      const result = await next({ ...input, args: [...opened.args] });
      refuseLarge(activityType, result);
      return withTime(scheduledAt + Math.floor(performance.now() - began), result);
    },
  },
});

/** The server refuses larger results only after it has received them, and then the attempt is repeated for long. */
function refuseLarge(activityType: string, result: unknown): void {
  const bytes = jsonBytes(result);
  if (bytes > mostSent)
    throw ApplicationFailure.nonRetryable(
      `the result of ${activityType} has ${bytes} bytes as JSON, and at most ${mostSent} fit into a message; divide what it is about`,
      'Invalid',
    );
}

function isUnopened(value: unknown): value is Refusal {
  return isRefusal(value) && value.unknownKey !== undefined;
}
