import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  isGrpcServiceError,
  QueryNotRegisteredError,
  QueryRejectedError,
  ServiceError,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import { grpcStatus } from '../model/grpc-status.js';
import { longestMs } from './call.js';
import { unreadHistory } from '../model/unread-history.js';

interface Patience {
  readonly withinMs: number;
  /** The first pause is short, and each further one twice as long, up to this. */
  readonly longestPauseMs: number;
}

const firstPauseMs = 200;
const patience = {
  query: { withinMs: 10_000, longestPauseMs: firstPauseMs },
  // Updates take turns with those of others. `call` ends it earlier if workers show no signs of life.
  update: { withinMs: longestMs, longestPauseMs: 3_000 },
} as const satisfies Record<string, Patience>;

/**
 * After so many refusals the server is asked to reject the query if the workflow has ended: then there is no
 * next workflow task, and every worker would refuse.
 */
const openTimes = 5;
const notOpen = 2; // QUERY_REJECT_CONDITION_NOT_OPEN

/**
 * Repeats requests that failed for a transient reason: queries that a worker could not answer yet
 * (`src/workflows/no-early-query.ts`) or that were too many at once, and updates whose workflow task the
 * server refused because of an event just before the workflow's end, or because there were too many at once.
 * An update keeps its id, so it is executed once; `renewStarts` seals a start anew.
 */
export const askAgain: WorkflowClientInterceptor = {
  query: (input, next) => {
    let asked = 0;
    const ask = (): Promise<unknown> =>
      next(asked++ < openTimes ? input : { ...input, queryRejectCondition: notOpen });
    return again(ask, isQueryToAskAgain, patience.query).catch((error: unknown) => {
      if (!(error instanceof QueryRejectedError) || asked <= openTimes) throw error;
      throw new ServiceError(
        'the workflow was ended in the middle of a workflow task, so its last state cannot be read',
        { cause: error },
      );
    });
  },
  startUpdate: ({ options, ...input }, next) => {
    const same = { ...input, options: { ...options, updateId: options.updateId ?? randomUUID() } };
    return again(() => next(same), isUpdateToAskAgain, patience.update);
  },
  startUpdateWithStart: ({ updateOptions, ...input }, next) => {
    const same = {
      ...input,
      updateOptions: { ...updateOptions, updateId: updateOptions.updateId ?? randomUUID() },
    };
    return again(() => next(same), isUpdateToAskAgain, patience.update);
  },
};

async function again<Answer>(
  ask: () => Promise<Answer>,
  isPassing: (error: unknown) => error is Error,
  { withinMs, longestPauseMs }: Patience,
): Promise<Answer> {
  const end = performance.now() + withinMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error)) throw error;
      // As another error: callers take QueryNotRegisteredError for an answer.
      if (performance.now() > end) throw new ServiceError('the workflow did not answer', { cause: error });
      // Jitter, so that many clients do not come back in the same moment.
      await pause(pauseMs * (0.5 + Math.random() / 2));
    }
  }
}

function isQueryToAskAgain(error: unknown): error is Error {
  // The SDK gives each failure of a query this name.
  if (error instanceof QueryNotRegisteredError) return error.message.includes(unreadHistory.message);
  return says(error, grpcStatus.resourceExhausted, 'query buffer is full');
}

function isUpdateToAskAgain(error: unknown): error is Error {
  return (
    says(error, grpcStatus.failedPrecondition, 'unexpected workflow task failure') ||
    // After a task that timed out, until the next one is completed.
    says(error, grpcStatus.failedPrecondition, 'Workflow Task in failed state') ||
    says(error, grpcStatus.resourceExhausted, 'in-flight updates') ||
    // The server forgot it before a worker accepted it.
    says(error, grpcStatus.unavailable, 'workflow update was aborted')
  );
}

function says(error: unknown, code: number, text: string): error is Error {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && Number(cause.code) === code && cause.message.includes(text);
}
