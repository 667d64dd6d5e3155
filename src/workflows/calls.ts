import {
  allHandlersFinished,
  condition,
  continueAsNew,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { takeCallsUpdate } from './messages.js';
import { noCheck } from './no-check.js';

/**
 * When a provider account may be called: the one row in which the calls of all workers stand. One such
 * workflow for an account. Whoever asks gets the next free places; those of a worker that died pass by
 * unused.
 * @param carried when the first place is free, in ms since the epoch
 */
export async function calls(carried = 0): Promise<never> {
  let freeAt = carried;
  setHandler(
    takeCallsUpdate,
    ({ count, everyMs }) => {
      const now = Date.now();
      const first = Math.max(now, freeAt);
      freeAt = first + count * everyMs;
      return first - now;
    },
    { validator: noCheck, description: 'Take the next places for calls.' },
  );
  await condition(() => workflowInfo().continueAsNewSuggested && allHandlersFinished());
  return continueAsNew<typeof calls>(freeAt);
}
