import { rateLimiterContract } from '../../model/account/contract.js';
import { bounds } from '../../model/bounds.js';
import { newMemory, runEntity, handlersOf } from '../entity.js';

/**
 * The rate limiter of a provider account, shared by all workers. Each request reserves the next free times;
 * those of a worker that dies pass unused.
 * @param input when the next call may be made, in ms since the epoch
 */
export async function rateLimiter(input?: { readonly carried: number }): Promise<string> {
  let freeAt = input?.carried ?? 0;
  return runEntity(newMemory(), {
    messages: handlersOf(rateLimiterContract, {
      updates: {
        take: ({ count, everyMs }) => {
          const now = Date.now();
          const first = Math.max(now, freeAt);
          freeAt = first + count * everyMs;
          return first - now;
        },
      },
    }),
    carry: () => freeAt,
    bounds: bounds.rateLimiter,
  });
}
