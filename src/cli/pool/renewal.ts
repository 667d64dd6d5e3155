import type { PoolClient } from '../../client/pool/pool-client.js';

/** How long a request outlives its command, which may be killed; longer than a restart of a worker. */
export const heldMs = 180_000;
const renewEveryMs = 20_000;
const longestHeldMs = 86_400_000;

/** How long a request waits without its command: as long as its lease, if that is longer. In ms. */
export function heldFor(leaseMs = heldMs): number {
  return Math.min(Math.max(heldMs, leaseMs), longestHeldMs);
}

export interface RenewalOptions {
  /** In ms. Default: {@link heldMs}. */
  readonly leaseMs?: number;
  /** The pool no longer knows the request, or its lease ended. */
  readonly onEnded?: () => void;
}

/** Renews requests several times within their lease. Returns a function that stops it. */
export function renewOften(
  pool: PoolClient,
  ids: readonly string[],
  { leaseMs = heldMs, onEnded }: RenewalOptions = {},
): () => void {
  const renew = async (id: string): Promise<void> => {
    if (!(await pool.renew(id))) onEnded?.();
  };
  // A renewal that fails is followed by the next one.
  const renewAll = (): void => void Promise.allSettled(ids.map(renew));
  const timer = setInterval(renewAll, Math.min(renewEveryMs, leaseMs / 3));
  return () => clearInterval(timer);
}
