import { offerKey, take, takeForTenant, type CapacityLedger } from './capacity-ledger.js';
import { costOf } from './fit.js';
import { makeNode, makeSlice, type Making } from './make.js';
import type { PoolNode } from './node.js';
import type { NodeRequest } from './request.js';
import { changePoolNode, type PoolState } from './state.js';

/**
 * Allocates nodes of a provider pool to a request: the given ones, and new ones where none is given. Returns
 * their ids in the order of the labels.
 */
export function supply(
  pool: PoolState,
  ledger: CapacityLedger,
  { id: request, tenant, labels }: Pick<NodeRequest, 'id' | 'tenant' | 'labels'>,
  {
    providerPool,
    takes,
    now,
  }: { readonly providerPool: string; readonly takes: readonly (string | undefined)[]; readonly now: number },
): readonly string[] {
  const open = labels.filter((_label, index) => takes[index] === undefined);
  take(pool, ledger, providerPool, costOf(pool, ledger, providerPool, open));
  ledger.nodesLeft -= open.length;
  const nodes = labels.map((label, index) => {
    const taken = takes[index];
    if (taken !== undefined) {
      ledger.idle[offerKey(providerPool, label)]?.shift();
      return taken;
    }
    return supplyNode(pool, ledger, { providerPool, label, now }).id;
  });
  for (const node of nodes) {
    changePoolNode(pool, node, (before) => ({
      ...before,
      request,
      ...(tenant === undefined ? {} : { tenant }),
    }));
    const given = pool.nodes[node];
    if (given !== undefined) takeForTenant(ledger, given, 1);
  }
  return nodes;
}

/**
 * Allocates a node on its own machine, on a machine with free slots, or on a new machine with further slots.
 */
function supplyNode(pool: PoolState, ledger: CapacityLedger, making: Making): PoolNode {
  const offer = pool.spec?.providerPools[making.providerPool]?.labels[making.label];
  if (offer === undefined)
    throw new Error(`provider pool ${making.providerPool} does not serve label ${making.label}`);
  if (offer.slots === undefined) return makeNode(pool, offer, making);
  const rooms = (ledger.rooms[offerKey(making.providerPool, making.label)] ??= []);
  let room = rooms.find(({ free }) => free > 0);
  if (room === undefined) {
    room = { backing: makeNode(pool, offer, making).id, slots: offer.slots, free: offer.slots };
    rooms.push(room);
  }
  room.free -= 1;
  const backing = pool.nodes[room.backing];
  if (backing === undefined) throw new Error(`machine ${room.backing} is gone`);
  return makeSlice(pool, backing, making.now);
}
