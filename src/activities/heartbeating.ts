import { Context } from '@temporalio/activity';

/** Between two signs of life, in ms: well within every heartbeat timeout. */
const beatMs = 1_000;

/**
 * The activity with signs of life, so that after the death of its worker it begins anew in seconds, not when
 * its time is over.
 */
export function heartbeating<Input, Result>(
  activity: (input: Input) => Promise<Result>,
): (input: Input) => Promise<Result> {
  return async (input) => {
    const context = Context.current();
    const timer = setInterval(() => context.heartbeat(), beatMs);
    try {
      return await activity(input);
    } finally {
      clearInterval(timer);
    }
  };
}
