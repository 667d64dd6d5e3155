import type { PoolNode } from './node.js';
import { usesOf } from './sizes.js';
import type { OfferSpec } from './spec.js';
import type { PoolState } from './state.js';

export interface Making {
  readonly providerPool: string;
  readonly label: string;
  readonly now: number;
}

/** A node to create. Its number is never reused. */
export function makeNode(
  pool: PoolState,
  { slots }: Pick<OfferSpec, 'slots'>,
  { providerPool, label, now }: Making,
): PoolNode {
  const nodenum = pool.counters.node + 1;
  pool.counters.node = nodenum;
  const id = `${label}-${nodenum}`;
  const node: PoolNode = {
    id,
    label,
    providerPool,
    state: 'building',
    since: now,
    createdAt: now,
    attempt: 1,
    uses: usesOf(pool, providerPool, label),
    handedOut: 0,
    slots,
    machine: {
      nodeId: id,
      group: label,
      nodenum,
      hostname: `${pool.name}-${id}`,
      incarnation: 0,
      payload: {},
      facts: { services: {} },
      services: [],
      changedAt: 0,
      runs: {},
    },
  };
  pool.nodes[id] = node;
  return node;
}

/** A node on a machine that it shares with others. */
export function makeSlice(pool: PoolState, backing: PoolNode, now: number): PoolNode {
  const { providerPool, label, state } = backing;
  const { slots: _slots, ...slice } = makeNode(pool, {}, { providerPool, label, now });
  const node: PoolNode = {
    ...slice,
    uses: {},
    backing: backing.id,
    state: state === 'ready' ? 'ready' : 'building',
  };
  pool.nodes[node.id] = node;
  return node;
}
