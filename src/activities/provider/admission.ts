import { anySignal } from '../../model/signals.js';
import type { Calls } from '../../plugins/contract.js';
import type { RegisteredProvider } from '../../plugins/registry.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import { callsOf } from './rate-limiter.js';
import { takeLock, type HeldLock } from './lock.js';

type Reservation = Awaited<ReturnType<NonNullable<RegisteredProvider['reserve']>>>;

/** All that a call of a provider waits for before its own time begins. */
export interface Admission {
  readonly waitedMs: number;
  /** Where the account bears one call at a time: the right to call it now. */
  readonly lock?: HeldLock;
  /** Where the plugin runs as a program: a process for it. */
  readonly reservation?: Reservation;
  /** The account's limit of calls, of which the first has been waited for. */
  calls(signal: AbortSignal): Calls;
  release(): Promise<void>;
}

/**
 * Waits for the lock of the account, for a process of the plugin, and for the first call that the account's
 * limit grants.
 * @param signals end the wait, as the signals of the attempt do.
 */
export async function admit(
  parts: Pick<ActivityParts, 'locks' | 'rateLimiters'>,
  plugin: RegisteredProvider,
  account: string,
  attempt: Attempt,
  signals: readonly AbortSignal[] = [],
): Promise<Admission> {
  const since = performance.now();
  const leave = anySignal([attempt.signal, attempt.detach, ...signals]);
  const at = (step: string): void => attempt.at(step);
  const lock = await takeLock(parts, plugin, account, { at, signal: leave, detach: leave });
  let reservation: Reservation | undefined;
  const release = async (): Promise<void> => {
    reservation?.release();
    await lock?.release();
  };
  try {
    if (plugin.reserve !== undefined) {
      attempt.at(`waits for a process of ${plugin.descriptor.name}`);
      reservation = await plugin.reserve(leave);
    }
    const rateLimiter = parts.rateLimiters(account);
    if (rateLimiter !== undefined) {
      attempt.at(`waits until ${account} may be called`);
      await rateLimiter.begin(leave);
    }
    const begunAt = performance.now();
    return {
      waitedMs: begunAt - since,
      release,
      calls: (signal) => callsOf(rateLimiter, signal, begunAt),
      lock,
      reservation,
    };
  } catch (error) {
    await release();
    throw error;
  }
}
