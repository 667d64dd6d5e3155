import { fulfilIfWhole, withoutRequest } from './allocate.js';
import { openLedger, takeForTenant, type CapacityLedger } from './capacity-ledger.js';
import { fitIn, isAvoided, refusalOf } from './fit.js';
import type { PoolNode } from './node.js';
import type { ProviderPoolSpec } from './spec.js';
import { changeRequest, type PoolState } from './state.js';
import { supply } from './supply.js';

/** Whether the request may get another node for this one while it keeps its others. */
export function mayReplaceOne(pool: PoolState, { request = '', label, slots, backing }: PoolNode): boolean {
  const { state, nodes = [] } = pool.requests[request] ?? {};
  return (
    pool.spec?.labels[label]?.failOver === 'node' &&
    state === 'pending' &&
    nodes.length > 1 &&
    slots === undefined &&
    backing === undefined
  );
}

/**
 * Gives the node's request another one in its place; the node itself has no request from then on. False if
 * that cannot be done at once.
 * @param leaves from another provider pool, instead of from the node's own
 * @param ledger that of `openForReplacing`, kept up to date. Default: a new one.
 */
export function replaceOne(
  pool: PoolState,
  node: PoolNode,
  {
    leaves,
    now,
    ledger: given,
  }: { readonly leaves: boolean; readonly now: number; readonly ledger?: CapacityLedger },
): boolean {
  const request = pool.requests[node.request ?? ''];
  if (request === undefined || !mayReplaceOne(pool, node)) return false;
  const ledger = given ?? openForReplacing(pool, openLedger(pool, now));
  // What the node takes of its tenant's limits is free for the other one.
  takeForTenant(ledger, node, -1);
  const wanted = { ...request, labels: [node.label] };
  for (const [providerPool, provider] of byPriority(pool)) {
    if (leaves === (providerPool === node.providerPool)) continue;
    if (request.declined[providerPool] !== undefined || isAvoided(pool, wanted.labels, providerPool, now))
      continue;
    if (refusalOf(pool, wanted, providerPool, provider) !== undefined) continue;
    const fit = fitIn(pool, ledger, wanted, providerPool, provider);
    if (fit.is !== 'fits') continue;
    pool.nodes[node.id] = withoutRequest(node);
    const [other = ''] = supply(pool, ledger, wanted, { providerPool, takes: fit.takes, now });
    changeRequest(pool, request.id, (before) => ({
      ...before,
      nodes: before.nodes.map((id) => (id === node.id ? other : id)),
    }));
    fulfilIfWhole(pool, request.id, now);
    return true;
  }
  takeForTenant(ledger, node, 1);
  return false;
}

/** The same ledger, where waiting requests come first in the provider pools that they wait for. */
export function openForReplacing(pool: PoolState, ledger: CapacityLedger): CapacityLedger {
  const blocked = new Map(ledger.blocked);
  for (const { state, target, tenant } of Object.values(pool.requests))
    if (state === 'requested' && target !== undefined) blocked.set(target, tenant);
  return { ...ledger, blocked };
}

function byPriority({ spec }: PoolState): readonly (readonly [string, ProviderPoolSpec])[] {
  return Object.entries(spec?.providerPools ?? {}).toSorted(
    ([one, { priority: first }], [other, { priority: second }]) => first - second || (one < other ? -1 : 1),
  );
}
