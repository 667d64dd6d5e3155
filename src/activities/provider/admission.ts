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

/** An attempt, as far as its calls of providers need it. */
export type Caller = Pick<Attempt, 'at' | 'log' | 'signal' | 'detach'>;

/**
 * Waits for the lock of the account, for a process of the plugin, and for the first call that the account's
 * limit grants.
 * @param signals end the wait, as the signals of the attempt do.
 */
export async function admit(
  parts: Pick<ActivityParts, 'locks' | 'rateLimiters'>,
  plugin: RegisteredProvider,
  account: string,
  attempt: Caller,
  signals: readonly AbortSignal[] = [],
): Promise<Admission> {
  const since = performance.now();
  const leave = anySignal([attempt.signal, attempt.detach, ...signals]);
  const lock = await takeLock(parts, plugin, account, attempt, leave);
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
      attempt.at(`waits for the rate limiter of ${account}`);
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

/**
 * Waits for the lock only: a question about an account goes before the tasks that have not
 * begun, for it changes nothing, and many make no call at all.
 */
export async function admitQuestion(
  parts: Pick<ActivityParts, 'locks' | 'rateLimiters'>,
  plugin: RegisteredProvider,
  account: string,
  attempt: Caller,
): Promise<Admission> {
  const leave = anySignal([attempt.signal, attempt.detach]);
  const lock = await takeLock(parts, plugin, account, attempt, leave);
  return {
    waitedMs: lock?.waitedMs ?? 0,
    calls: (signal) => callsOf(parts.rateLimiters(account), signal),
    release: async () => lock?.release(),
    lock,
  };
}
