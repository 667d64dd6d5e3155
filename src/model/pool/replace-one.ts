import { fulfilIfWhole, withoutRequest } from './allocate.js';
import { offerKey, openLedger } from './capacity-ledger.js';
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
 */
export function replaceOne(
  pool: PoolState,
  node: PoolNode,
  { leaves, now }: { readonly leaves: boolean; readonly now: number },
): boolean {
  const request = pool.requests[node.request ?? ''];
  if (request === undefined || !mayReplaceOne(pool, node)) return false;
  // What the node takes of its tenant's limits is free for the other one.
  pool.nodes[node.id] = withoutRequest(node);
  const ledger = openLedger(pool, now);
  const own = offerKey(node.providerPool, node.label);
  ledger.idle[own] = (ledger.idle[own] ?? []).filter((id) => id !== node.id);
  for (const { state, target, tenant } of Object.values(pool.requests))
    if (state === 'requested' && target !== undefined) ledger.blocked.set(target, tenant);
  const wanted = { ...request, labels: [node.label] };
  for (const [providerPool, provider] of byPriority(pool)) {
    if (leaves === (providerPool === node.providerPool)) continue;
    if (request.declined[providerPool] !== undefined || isAvoided(pool, wanted.labels, providerPool, now))
      continue;
    if (refusalOf(pool, wanted, providerPool, provider) !== undefined) continue;
    const fit = fitIn(pool, ledger, wanted, providerPool, provider);
    if (fit.is !== 'fits') continue;
    const [other = ''] = supply(pool, ledger, wanted, { providerPool, takes: fit.takes, now });
    changeRequest(pool, request.id, (before) => ({
      ...before,
      nodes: before.nodes.map((id) => (id === node.id ? other : id)),
    }));
    fulfilIfWhole(pool, request.id, now);
    return true;
  }
  pool.nodes[node.id] = node;
  return false;
}

function byPriority({ spec }: PoolState): readonly (readonly [string, ProviderPoolSpec])[] {
  return Object.entries(spec?.providerPools ?? {}).toSorted(
    ([one, { priority: first }], [other, { priority: second }]) => first - second || (one < other ? -1 : 1),
  );
}
