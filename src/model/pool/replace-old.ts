import { addTo, isNothing, minus, type Amounts } from './amounts.js';
import { missingFor, offerKey, type CapacityLedger } from './capacity-ledger.js';
import { setNodeState } from './allocate.js';
import { makeOne } from './keep-ready.js';
import { lacksImage, oldSpares } from './library.js';
import type { PoolNode } from './node.js';
import { pauseOf } from './pause.js';
import { usesOf } from './sizes.js';
import type { PoolState } from './state.js';

/** Of the nodes that are kept ready, so many are replaced at a time; at least one. */
const shareAtOnce = 0.1;

/**
 * Replaces ready nodes of older images after all waiting requests are served: first a new one is created,
 * then an old one deleted. Without capacity for another one, the old one is deleted first.
 */
export function replaceOld(pool: PoolState, ledger: CapacityLedger, now: number): void {
  if (pool.leaving !== undefined) return;
  for (const label of labelsWithOld(pool)) replaceLabel(pool, ledger, label, now);
}

/** Labels that have free, ready nodes of an older image. */
export function labelsWithOld(pool: PoolState): ReadonlySet<string> {
  return new Set(oldSpares(pool).map(({ label }) => label));
}

function replaceLabel(pool: PoolState, ledger: CapacityLedger, label: string, now: number): void {
  const minReady = pool.spec?.labels[label]?.minReady ?? 0;
  const old = dropExcess(pool, ledger, { label, minReady, now });
  const width = Math.max(1, Math.floor(minReady * shareAtOnce));
  let coming = Object.values(pool.nodes).filter(
    (node) =>
      node.label === label &&
      node.state === 'building' &&
      node.request === undefined &&
      node.backing === undefined,
  ).length;
  while (coming < Math.min(width, old.length) && makeOne(pool, ledger, label, now) > 0) coming += 1;
  if (coming > 0 || roomComes(pool, ledger, label, now)) return;
  const first = old.find((node) => makesRoom(pool, ledger, node, now));
  if (first !== undefined) drop(pool, first, now);
}

interface Keeping {
  readonly label: string;
  readonly minReady: number;
  readonly now: number;
}

/** Deletes old nodes while enough others are ready; gives those that are left, the oldest first. */
function dropExcess(
  pool: PoolState,
  ledger: CapacityLedger,
  { label, minReady, now }: Keeping,
): readonly PoolNode[] {
  const ready = (id: string): boolean => pool.nodes[id]?.state === 'ready';
  let serving = 0;
  const parts: Record<string, number> = {};
  for (const name of Object.keys(pool.spec?.providerPools ?? {})) {
    const key = offerKey(name, label);
    for (const id of (ledger.idle[key] ?? []).filter(ready))
      parts[id] = pool.nodes[id]?.backing === undefined ? 1 : 0;
    for (const { backing, free } of ledger.rooms[key] ?? []) if (ready(backing)) parts[backing] = free;
  }
  for (const part of Object.values(parts)) serving += part;
  const left: PoolNode[] = [];
  const old = oldSpares(pool)
    .filter((node) => node.label === label)
    .toSorted((one, other) => one.since - other.since);
  for (const node of old) {
    const part = parts[node.id] ?? 0;
    if (serving - part < minReady) left.push(node);
    else {
      serving -= part;
      drop(pool, node, now);
      // Its room is free soon: no other one has to go for it.
      addTo((ledger.leaving[node.providerPool] ??= {}), node.uses);
    }
  }
  return left;
}

function drop(pool: PoolState, { id }: PoolNode, now: number): void {
  setNodeState(pool, id, 'deleting', now, 'there is a newer version of its image');
}

/** What goes anyway is room enough for another one, once it is gone. */
function roomComes(pool: PoolState, ledger: CapacityLedger, label: string, now: number): boolean {
  return Object.keys(pool.spec?.providerPools ?? {}).some((name) => {
    const missing = missingIn(pool, ledger, { providerPool: name, label, now });
    return (
      missing !== undefined &&
      !isNothing(missing) &&
      isNothing(pick(minus(missing, ledger.leaving[name] ?? {}), missing))
    );
  });
}

/** Nothing but its own room is missing for another one. */
function makesRoom(
  pool: PoolState,
  ledger: CapacityLedger,
  { providerPool, label, uses }: PoolNode,
  now: number,
): boolean {
  const missing = missingIn(pool, ledger, { providerPool, label, now });
  if (missing === undefined) return false;
  const comes = minus(missing, ledger.leaving[providerPool] ?? {});
  return !isNothing(pick(comes, missing)) && isNothing(pick(minus(comes, uses), missing));
}

/** The missing capacity for another node there; undefined if none is created now regardless of capacity. */
function missingIn(
  pool: PoolState,
  ledger: CapacityLedger,
  {
    providerPool,
    label,
    now,
  }: { readonly providerPool: string; readonly label: string; readonly now: number },
): Amounts | undefined {
  const provider = pool.spec?.providerPools[providerPool];
  const offer = provider?.labels[label];
  if (provider === undefined || offer === undefined || lacksImage(pool, providerPool, label) !== undefined)
    return undefined;
  if (
    ledger.blocked.has(providerPool) ||
    pauseOf(pool, { providerPool, label }) !== undefined ||
    (pool.resting[offerKey(providerPool, label)]?.until ?? 0) > now
  )
    return undefined;
  return missingFor(pool, ledger, providerPool, provider, usesOf(pool, providerPool, label))?.amounts ?? {};
}

function pick(
  amounts: Readonly<Record<string, number>>,
  of: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.keys(of).map((key) => [key, amounts[key] ?? 0]));
}
