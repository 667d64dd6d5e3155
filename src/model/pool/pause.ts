import { offerKey } from './capacity-ledger.js';
import type { Pause, PoolState } from './state.js';

interface Offered {
  readonly providerPool: string;
  readonly label: string;
}

/** Why no machine of the label is requested there for a while: its account refused one for its quota. */
export function pauseOf(pool: PoolState, { providerPool, label }: Offered): Pause | undefined {
  return pool.paused[offerKey(providerPool, label)];
}

/** Why no machines of some labels are requested there for a while. */
export function pausesIn(pool: PoolState, providerPool: string): readonly string[] {
  const labels = Object.keys(pool.spec?.providerPools[providerPool]?.labels ?? {});
  return [...new Set(labels.flatMap((label) => pauseOf(pool, { providerPool, label })?.why ?? []))];
}

/**
 * The account refused a machine for its quota. Only the label is paused: another label may need less, and a
 * machine that never fits must not stop the others. The pause doubles until a machine of the label is made.
 */
export function pause(pool: PoolState, { providerPool, label }: Offered, why: string, now: number): void {
  const account = accountOf(pool, providerPool);
  if (account === undefined) return;
  delete pool.quotas[account];
  delete pool.quotasAskedAt[account];
  const key = offerKey(providerPool, label);
  // Refusals of machines that were requested together count once.
  if (pool.paused[key] !== undefined) return;
  const times = (pool.refusals?.[key] ?? 0) + 1;
  pool.refusals = { ...pool.refusals, [key]: times };
  pool.paused[key] = { since: now, until: now + pauseMs(times), why, times };
}

/** The account made a machine of the label. */
export function forgetRefusals(pool: PoolState, { providerPool, label }: Offered): void {
  const key = offerKey(providerPool, label);
  if (pool.refusals?.[key] === undefined) return;
  const { [key]: _over, ...refusals } = pool.refusals;
  pool.refusals = refusals;
}

/** Something was freed in the account. */
export function endPauses(pool: PoolState, providerPool: string): void {
  const account = accountOf(pool, providerPool);
  if (account === undefined) return;
  for (const [name, { provider, labels }] of Object.entries(pool.spec?.providerPools ?? {}))
    if (provider === account)
      for (const label of Object.keys(labels)) delete pool.paused[offerKey(name, label)];
}

function accountOf({ spec }: PoolState, providerPool: string): string | undefined {
  return spec?.providerPools[providerPool]?.provider;
}

function pauseMs(times: number): number {
  return Math.min(5 * 60_000, 5_000 * 2 ** times);
}
