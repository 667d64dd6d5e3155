import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { openMessage, purposeOf } from '../model/messages/envelope.js';

/**
 * Runs an activity only on an input that was sealed for it; a replayed or plaintext input fails before a
 * plugin runs.
 */
export const openInputs: ActivityInterceptorsFactory = ({ info: { activityType } }) => ({
  inbound: {
    async execute(input, next) {
      const opened = openMessage(purposeOf('activity', activityType), input.args, Date.now());
      if (!opened.ok) throw ApplicationFailure.nonRetryable(opened.why, 'Invalid');
      return next({ ...input, args: [...opened.args] });
    },
  },
});
