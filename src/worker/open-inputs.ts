import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { activityInfo } from '@temporalio/activity';
import { openMessage, purposeOf } from '../model/messages/envelope.js';
import { isRefusal, type Refusal } from '../model/messages/refusal.js';

/** Wait for a missing key, in ms. */
const retryAfterMs = 10_000;

/**
 * Runs an activity only on an input that was sealed for it; a replayed or plaintext input fails before a
 * plugin runs.
 */
export const openInputs: ActivityInterceptorsFactory = ({ info: { activityType } }) => ({
  inbound: {
    async execute(input, next) {
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
      return next({ ...input, args: [...opened.args] });
    },
  },
});

function isUnopened(value: unknown): value is Refusal {
  return isRefusal(value) && value.unknownKey !== undefined;
}
