import type { TenantWaiting } from '../../schema/output/pool.js';
import { openLedger } from './capacity-ledger.js';
import { inFairOrder, weightOf } from './fair-order.js';
import { reasonsBySignature, signatureOf } from './order.js';
import type { PoolState } from './state.js';

/**
 * The tenants whose requests wait, in the order in which their next requests are considered.
 * Tenants with nodes that ask for no more count for the fair shares.
 */
export function viewWaiting(pool: PoolState, now: number): readonly TenantWaiting[] {
  const ledger = openLedger(pool, now);
  const { shares } = ledger;
  const why = reasonsBySignature(pool);
  const tenants = new Map<string, { waiting: number; oldest: number; reasons: Map<string, number> }>();
  for (const request of inFairOrder(pool, ledger, () => false, now)) {
    const { tenant = '', createdAt } = request;
    const found = tenants.get(tenant) ?? { waiting: 0, oldest: createdAt, reasons: new Map() };
    const reason = request.waits ?? why.get(signatureOf(request)) ?? 'not considered yet';
    found.waiting += 1;
    found.oldest = Math.min(found.oldest, createdAt);
    found.reasons.set(reason, (found.reasons.get(reason) ?? 0) + 1);
    tenants.set(tenant, found);
  }
  const concerned = new Set([...tenants.keys(), ...Object.keys(shares)]);
  const allWeights = sum([...concerned].map((tenant) => weightOf(pool, tenant)));
  const allNodes = sum(Object.values(shares));
  return [...tenants].map(([tenant, { waiting, oldest, reasons }]): TenantWaiting => {
    const nodes = shares[tenant] ?? 0;
    const weight = weightOf(pool, tenant);
    return {
      ...(tenant === '' ? {} : { tenant }),
      waiting,
      oldest,
      nodes,
      weight,
      share: allNodes === 0 ? 0 : nodes / allNodes,
      fairShare: weight / allWeights,
      reasons: [...reasons]
        .map(([reason, requests]) => ({ why: reason, requests }))
        .toSorted((one, other) => other.requests - one.requests),
    };
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
