import { randomUUID } from 'node:crypto';
import { within } from '../../model/signals.js';
import { PluginError } from '../../plugins/errors.js';
import type { RegisteredProvider } from '../../plugins/registry.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts, Locks } from '../parts.js';

/** The exclusive right to call a provider account. */
export interface HeldLock {
  /** Aborted when the lock is lost: a call that continued would not be alone. */
  readonly lost: AbortSignal;
  readonly waitedMs: number;
  release(): Promise<void>;
}

/**
 * A lock that is not renewed for so long is released, in ms: so long the others wait for a worker that died.
 */
const leaseMs = 15_000;
const renewMs = 5_000;
/** How long one message waits for the lock, in ms. */
const askMs = 10_000;

/**
 * Waits for the exclusive right to call this account, over all workers; undefined where the plugin's client
 * bears several calls at a time.
 * @param leave ends the wait.
 * @throws PluginError Retryable when the lock does not answer.
 */
export async function takeLock(
  { locks }: Pick<ActivityParts, 'locks'>,
  { descriptor }: RegisteredProvider,
  account: string,
  attempt: Pick<Attempt, 'at'>,
  leave: AbortSignal,
): Promise<HeldLock | undefined> {
  if (!descriptor.serial) return undefined;
  const begin = performance.now();
  const lock = locks(account);
  const holder = randomUUID();
  attempt.at(`waits for the lock of ${account}`);
  for (;;) {
    if (await ask(lock, account, holder, leave)) return hold(lock, holder, performance.now() - begin);
    leave.throwIfAborted();
  }
}

async function ask(lock: Locks, account: string, holder: string, leave: AbortSignal): Promise<boolean> {
  const taking = lock.take({ holder, leaseMs, waitMs: askMs });
  try {
    return await within(taking, leave);
  } catch (cause) {
    // The lock may have been granted without our knowledge, or be granted yet.
    const release = (): Promise<void> => lock.release(holder);
    taking.then(release, release).catch(() => undefined);
    leave.throwIfAborted();
    throw new PluginError(
      'Retryable',
      `the lock of ${account} did not answer (${cause instanceof Error ? cause.message : String(cause)})`,
      { cause },
    );
  }
}

function hold(lock: Locks, holder: string, waitedMs: number): HeldLock {
  const lost = new AbortController();
  // The answer may have been on its way for a while.
  let over = performance.now() + leaseMs / 2;
  let renewing = false;
  const renew = async (): Promise<void> => {
    if (performance.now() > over)
      lost.abort(
        new PluginError('Retryable', 'the lock of the account was lost: the server did not answer in time'),
      );
    if (renewing || lost.signal.aborted) return;
    renewing = true;
    const sentAt = performance.now();
    if (await lock.take({ holder, leaseMs, waitMs: 0 }).catch(() => false)) over = sentAt + leaseMs - renewMs;
    renewing = false;
  };
  const timer = setInterval(() => void renew(), renewMs / 2);
  return {
    lost: lost.signal,
    waitedMs,
    async release() {
      clearInterval(timer);
      // Unanswered, it ends by itself.
      await lock.release(holder).catch(() => undefined);
    },
  };
}
