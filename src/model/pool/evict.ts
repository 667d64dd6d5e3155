import { addTo, isNothing, minus, type Amounts } from './amounts.js';
import { isOutdated, type CapacityLedger } from './capacity-ledger.js';
import { oldSpares } from './library.js';
import type { PoolNode } from './node.js';
import { changePoolNode, type PoolState } from './state.js';

export interface Need {
  readonly name: string;
  /** What is too much at this moment. */
  readonly missing: Amounts;
  readonly request: string;
  readonly now: number;
}

/**
 * Deletes idle nodes, oldest first, until the capacity suffices for the request; never one more. If it cannot
 * suffice, shared machines with free slots get no further nodes, so that they become empty.
 */
export function makeRoom(
  pool: PoolState,
  ledger: CapacityLedger,
  { name, missing, request, now }: Need,
): void {
  let left = minus(missing, ledger.leaving[name] ?? {});
  if (isCovered(left, missing)) return;
  for (const node of evictable(pool, ledger, name)) {
    if (!helps(node, left)) continue;
    changePoolNode(pool, node.id, (before) => ({
      ...before,
      state: 'deleting',
      since: now,
      why: `makes room for request ${request}`,
    }));
    addTo((ledger.leaving[name] ??= {}), node.uses);
    for (const ids of Object.values(ledger.idle)) {
      const at = ids.indexOf(node.id);
      if (at >= 0) ids.splice(at, 1);
    }
    for (const rooms of Object.values(ledger.rooms)) {
      const at = rooms.findIndex(({ backing }) => backing === node.id);
      if (at >= 0) rooms.splice(at, 1);
    }
    left = minus(left, node.uses);
    if (isCovered(left, missing)) return;
  }
  closeRooms(pool, ledger, name, { left, missing });
}

/** The emptiest first: one that is closed only gets emptier, so it is the same one in the next pass. */
function closeRooms(
  pool: PoolState,
  ledger: CapacityLedger,
  name: string,
  need: { readonly left: Amounts; readonly missing: Amounts },
): void {
  let { left } = need;
  const open = Object.entries(ledger.rooms).flatMap(([key, rooms]) =>
    key.startsWith(`${name}/`) ? rooms : [],
  );
  for (const room of open.toSorted(
    (one, other) => other.free / other.slots - one.free / one.slots || (one.backing < other.backing ? -1 : 1),
  )) {
    const backing = pool.nodes[room.backing];
    if (backing === undefined || !helps(backing, left)) continue;
    room.free = 0;
    left = minus(left, backing.uses);
    if (isCovered(left, need.missing)) return;
  }
}

function isCovered(left: Amounts, missing: Amounts): boolean {
  return isNothing(Object.fromEntries(Object.keys(missing).map((key) => [key, left[key] ?? 0])));
}

function helps({ uses }: PoolNode, left: Amounts): boolean {
  return Object.entries(uses).some(([key, amount]) => amount > 0 && (left[key] ?? 0) > 0);
}

/**
 * Free, ready nodes of the provider pool, except those kept for the request itself.
 */
function evictable(pool: PoolState, ledger: CapacityLedger, name: string): readonly PoolNode[] {
  const idle = Object.entries(ledger.idle).flatMap(([key, ids]) => (key.startsWith(`${name}/`) ? ids : []));
  const empty = Object.entries(ledger.rooms).flatMap(([key, rooms]) =>
    key.startsWith(`${name}/`)
      ? rooms.filter(({ free, slots }) => free === slots).map(({ backing }) => backing)
      : [],
  );
  const shared = new Set(Object.values(pool.nodes).map(({ backing }) => backing));
  const outdated = Object.values(pool.nodes)
    .filter(
      (node) =>
        node.providerPool === name &&
        node.request === undefined &&
        !shared.has(node.id) &&
        isOutdated(pool, node),
    )
    .map(({ id }) => id);
  // An old shared machine without free slots is in no list of free capacity.
  const old = oldSpares(pool)
    .filter((node) => node.providerPool === name)
    .map(({ id }) => id);
  return [...new Set([...outdated, ...old, ...idle, ...empty])]
    .flatMap((id) => pool.nodes[id] ?? [])
    .filter(({ state }) => state === 'ready')
    .toSorted((one, other) => one.createdAt - other.createdAt);
}
