import { setTimeout as pause } from 'node:timers/promises';
import { isGrpcServiceError, QueryNotRegisteredError, ServiceError, type WorkflowClientInterceptor } from '@temporalio/client';
import { unreadHistory } from '../model/unread-history.js';

/** How often a query is asked again, and the wait between, in ms. */
const mostTimes = 50;
const againMs = 200;

/** The status code of gRPC. */
const resourceExhausted = 8;

/** Asks again what a worker could not answer yet (`src/workflows/no-task-by-query.ts`), and what was asked by too many at once. */
export const askAgain: WorkflowClientInterceptor = {
  async query(input, next) {
    for (let time = 1; ; time += 1) {
      try {
        return await next(input);
      } catch (error) {
        if (time === mostTimes || !isPassing(error)) throw error;
        await pause(againMs);
      }
    }
  },
};

function isPassing(error: unknown): boolean {
  // The SDK gives each failure of a query this name.
  if (error instanceof QueryNotRegisteredError) return error.message.includes(unreadHistory.message);
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && cause.code === resourceExhausted && cause.message.includes('query buffer is full');
}
