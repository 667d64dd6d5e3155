import { setTimeout as pause } from 'node:timers/promises';
import type { Calls } from '../../plugins/contract.js';
import { PluginError } from '../../plugins/errors.js';

/** The row in which the calls of an account stand, the same for all workers. */
export interface CallTimes {
  /** Takes the next places for so many calls; gives how long from now the first is to wait, in ms. */
  take(request: { readonly count: number; readonly everyMs: number }): Promise<number>;
}

/** How often an account may be called, over all workers. */
export interface RateLimiter {
  /** Waits for a task's first call. Those of tasks that have begun go first: their time is running. */
  begin(signal: AbortSignal): Promise<void>;
  /** Waits for a further call of a running task. */
  take(signal: AbortSignal): Promise<void>;
}

export interface RateLimiterOptions {
  readonly account: string;
  readonly perSecond: number;
  readonly slots: CallTimes;
}

/** A reserved time is void after this delay, in ms: another worker's call may be due by then. */
const lateMs = 1_000;

/** Most places taken at once: those of a worker that dies pass by unused. */
const mostAtOnce = 100;

interface Waiter {
  readonly go: () => void;
  readonly fail: (error: Error) => void;
}

/** Gives the calls of one worker their places, one after the other. */
export function createRateLimiter({ account, perSecond, slots }: RateLimiterOptions): RateLimiter {
  const everyMs = 1_000 / perSecond;
  const begun: Waiter[] = [];
  const beginning: Waiter[] = [];
  let serving = false;

  const serve = async (): Promise<void> => {
    const count = Math.min(begun.length + beginning.length, Math.ceil(perSecond), mostAtOnce);
    const askedAt = performance.now();
    const waitMs = await slots.take({ count, everyMs });
    const firstAt = performance.now() + waitMs;
    // The row may have been read as soon as it was asked for: then all is so much later than it should be.
    const answerMs = firstAt - waitMs - askedAt;
    for (let index = 0; index < count; index += 1) {
      const at = firstAt + index * everyMs;
      await pause(Math.max(0, at - performance.now()), undefined, { ref: false });
      // The first is used in any case: where each answer is late, calls are still made, one for each.
      if (index > 0 && performance.now() - at + answerMs > lateMs) return;
      const next = begun.shift() ?? beginning.shift();
      if (next === undefined) return;
      next.go();
    }
  };
  const serveAll = async (): Promise<void> => {
    if (serving) return;
    serving = true;
    try {
      while (begun.length + beginning.length > 0) await serve();
    } catch (cause) {
      const failed = new PluginError(
        'Retryable',
        `the rate limiter of ${account} did not answer (${cause instanceof Error ? cause.message : String(cause)})`,
        { cause },
      );
      for (const waiter of [...begun.splice(0), ...beginning.splice(0)]) waiter.fail(failed);
    } finally {
      serving = false;
    }
  };
  const waitIn = (row: Waiter[], signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const leave = (): void => {
        row.splice(row.indexOf(waiter), 1);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        go: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
        fail: (error) => {
          signal.removeEventListener('abort', leave);
          reject(error);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      row.push(waiter);
      void serveAll();
    });
  return { begin: (signal) => waitIn(beginning, signal), take: (signal) => waitIn(begun, signal) };
}

/**
 * The calls of one task. One that was waited for before the task began is the first, unless it comes too
 * late.
 */
export function callsOf(rateLimiter: RateLimiter | undefined, signal: AbortSignal, begunAt?: number): Calls {
  if (rateLimiter === undefined) return { take: () => Promise.resolve() };
  let ready = begunAt;
  return {
    take: async () => {
      const isReady = ready !== undefined && performance.now() - ready < lateMs;
      ready = undefined;
      if (!isReady) await rateLimiter.take(signal);
    },
  };
}
