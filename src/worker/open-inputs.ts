import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { openMessage, purposeOf } from '../model/messages/envelope.js';

/**
 * Lets an activity run only on an input that was sealed for it: the recorded input of a CREATE that is
 * scheduled as DELETE, and a plaintext input, fail before any plugin is asked.
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
