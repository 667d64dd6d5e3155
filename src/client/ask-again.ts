import { setTimeout as pause } from 'node:timers/promises';
import { QueryNotRegisteredError, type WorkflowClientInterceptor } from '@temporalio/client';
import { unreadHistory } from '../model/unread-history.js';

/** How often a query is asked again, and the wait between, in ms. */
const mostTimes = 20;
const againMs = 100;

/** Asks again what a worker could not answer yet (`src/workflows/no-task-by-query.ts`). */
export const askAgain: WorkflowClientInterceptor = {
  async query(input, next) {
    for (let time = 1; ; time += 1) {
      try {
        return await next(input);
      } catch (error) {
        // The SDK gives each failure of a query this name.
        if (time === mostTimes || !(error instanceof QueryNotRegisteredError) || !error.message.includes(unreadHistory.message)) throw error;
        await pause(againMs);
      }
    }
  },
};
