import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import { cutText } from '../../model/carried.js';
import { longestText } from '../../model/machine/remember.js';
import { NotDone } from '../machine/failure.js';

/**
 * Why something of a build failed, for people.
 * @throws the error itself where it is a cancellation, or a fault of ours.
 */
export function whyOf(error: unknown): string {
  return cutText(wholeWhyOf(error), longestText);
}

function wholeWhyOf(error: unknown): string {
  if (isCancellation(error)) throw error;
  if (error instanceof NotDone || error instanceof ApplicationFailure) return error.message;
  if (!(error instanceof ActivityFailure)) throw error;
  const { cause } = error;
  if (!(cause instanceof TimeoutFailure)) return cause?.message ?? error.message;
  const last =
    cause.cause instanceof Error && cause.cause.message !== ''
      ? `; the last attempt said: ${cause.cause.message}`
      : '';
  return `${error.activityType} did not end within its time limit${last}`;
}
