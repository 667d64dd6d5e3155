import { missingFor, offerKey, take, type CapacityLedger } from './capacity-ledger.js';
import { lacksImage } from './library.js';
import { makeNode } from './make.js';
import { pauseOf } from './pause.js';
import { usesOf } from './sizes.js';
import type { PoolState } from './state.js';

/**
 * Creates nodes ahead of requests from capacity that no request waits for. It never frees capacity.
 */
export function keepReady(pool: PoolState, ledger: CapacityLedger, now: number): void {
  if (pool.leaving !== undefined) return;
  for (const [label, { minReady }] of Object.entries(pool.spec?.labels ?? {})) {
    if (minReady <= 0) continue;
    for (let missing = minReady - countSpare(pool, ledger, label); missing > 0;) {
      const made = makeOne(pool, ledger, label, now);
      if (made === 0) break;
      missing -= made;
    }
  }
}

/** Nodes of a label that are available now or soon. */
export function countSpare(
  pool: PoolState,
  ledger: Pick<CapacityLedger, 'idle' | 'rooms'>,
  label: string,
): number {
  return Object.keys(pool.spec?.providerPools ?? {}).reduce((sum, name) => {
    const key = offerKey(name, label);
    const free = (ledger.rooms[key] ?? []).reduce((all, room) => all + room.free, 0);
    return sum + free + (ledger.idle[key]?.length ?? 0);
  }, 0);
}

/** Returns how many nodes it creates; 0 without capacity or without an image. */
export function makeOne(pool: PoolState, ledger: CapacityLedger, label: string, now: number): number {
  if (ledger.nodesLeft < 1) return 0;
  const ranked = Object.entries(pool.spec?.providerPools ?? {}).toSorted(
    ([, one], [, other]) => one.priority - other.priority,
  );
  for (const [name, provider] of ranked) {
    const offer = provider.labels[label];
    const key = offerKey(name, label);
    if (
      offer === undefined ||
      ledger.blocked.has(name) ||
      pauseOf(pool, { providerPool: name, label }) !== undefined ||
      (pool.resting[key]?.until ?? 0) > now ||
      lacksImage(pool, name, label) !== undefined
    )
      continue;
    const uses = usesOf(pool, name, label);
    const missing = missingFor(pool, ledger, name, provider, uses);
    if (missing !== undefined) {
      if (missing.account !== undefined) ledger.awaitsQuota.add(missing.account);
      continue;
    }
    take(pool, ledger, name, uses);
    ledger.nodesLeft -= 1;
    const node = makeNode(pool, offer, { providerPool: name, label, now });
    if (offer.slots === undefined) {
      (ledger.idle[key] ??= []).push(node.id);
      return 1;
    }
    (ledger.rooms[key] ??= []).push({ backing: node.id, slots: offer.slots, free: offer.slots });
    return offer.slots;
  }
  return 0;
}
