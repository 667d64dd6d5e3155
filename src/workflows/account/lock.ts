import { lockContract } from '../../model/account/contract.js';
import { bounds } from '../../model/bounds.js';
import { isBudgetExceeded, newMemory, runEntity, handlersOf } from '../entity.js';
import { condition } from '../inbox.js';

/** The holder of a lock, and when its lease ends, in ms since the epoch. */
interface LockState {
  readonly holder: string;
  readonly until: number;
}

/**
 * The lock of a provider account whose client supports one call at a time. Requests are served in order; a
 * holder that does not renew its lease has died, and the next request gets the lock.
 */
export async function lock(input?: { readonly carried?: LockState }): Promise<string> {
  let held = input?.carried;
  const waiting: string[] = [];
  const memory = newMemory();
  // A message may arrive together with the end of a lease, and is taken in before the next step.
  const expire = (): void => {
    if (held !== undefined && held.until <= Date.now()) held = undefined;
  };
  return runEntity(memory, {
    messages: handlersOf(lockContract, {
      updates: {
        take: async (request) => {
          expire();
          const { holder, leaseMs, waitMs } = request;
          const isFree = held === undefined ? waiting.length === 0 : held.holder === holder;
          if (!isFree && waitMs > 0) {
            if (!waiting.includes(holder)) waiting.push(holder);
            // A run that ends lets its requests return; they ask the next run.
            await condition(
              () => (held === undefined && waiting[0] === holder) || isBudgetExceeded(memory),
              waitMs,
            );
            waiting.splice(waiting.indexOf(holder), 1);
          }
          if (held !== undefined && held.holder !== holder) return false;
          held = { holder, until: Date.now() + leaseMs };
          return true;
        },
        release: (holder) => {
          if (held?.holder === holder) held = undefined;
        },
      },
    }),
    step: () => {
      expire();
      return { wakeAt: held?.until };
    },
    carry: () => held,
    bounds: bounds.lock,
  });
}
