import { addShare, offerKey, openLedger, type CapacityLedger } from './capacity-ledger.js';
import { makeRoom } from './evict.js';
import { fitIn, isAvoided, refusalOf, type Fit } from './fit.js';
import { fulfilIfWhole } from './allocate.js';
import { keepReady } from './keep-ready.js';
import { forgetServed, inFairOrder, noteServed } from './fair-order.js';
import { signatureOf } from './order.js';
import type { NodeRequest } from './request.js';
import { replaceOld } from './replace-old.js';
import type { ProviderPoolSpec } from './spec.js';
import { changeRequest, type PoolState } from './state.js';
import { supply } from './supply.js';

/**
 * Serves requests in order of priority, then fairly between tenants, then of arrival. A request
 * gets all of its nodes at once, from one provider pool, or waits. While one waits for capacity
 * nothing is created for later ones, so none starves; they still get what it does not need.
 */
export function admit(pool: PoolState, now: number): void {
  if (pool.spec === undefined) return;
  const ledger = openLedger(pool, now);
  forgetServed(pool, now);
  // Within a pass room only shrinks: what did not fit does not fit later either.
  const unserved = new Set<string>();
  const isPassed = (request: NodeRequest): boolean => unserved.has(signatureOf(request));
  for (const request of inFairOrder(pool, ledger, isPassed, now))
    if (!serve(pool, ledger, request, now)) unserved.add(signatureOf(request));
  keepReady(pool, ledger, now);
  replaceOld(pool, ledger, now);
  pool.awaitsQuota = Object.fromEntries(
    [...ledger.awaitsQuota].map((account) => [account, pool.awaitsQuota[account] ?? now]),
  );
}

interface Candidate {
  readonly name: string;
  readonly provider: ProviderPoolSpec;
  readonly fit: Fit;
  /** It was too slow lately, so others are tried first. */
  readonly isAvoided: boolean;
}

function serve(pool: PoolState, ledger: CapacityLedger, request: NodeRequest, now: number): boolean {
  const candidates = candidatesFor(pool, ledger, request, now);
  if (candidates === undefined) return true;
  const chosen = candidates.find(({ fit }) => fit.is === 'fits');
  if (chosen !== undefined && chosen.fit.is === 'fits') {
    assign(pool, ledger, request, { ...chosen, takes: chosen.fit.takes, now });
    return true;
  }
  wait(pool, ledger, request, candidates, now);
  return false;
}

/**
 * Provider pools that can serve the request, the best first; undefined when it has failed, for there are
 * none.
 */
function candidatesFor(
  pool: PoolState,
  ledger: CapacityLedger,
  request: NodeRequest,
  now: number,
): readonly Candidate[] | undefined {
  const declined: Record<string, string> = {};
  const candidates: Candidate[] = [];
  for (const [name, provider] of Object.entries(pool.spec?.providerPools ?? {})) {
    const why = request.declined[name] ?? refusalOf(pool, request, name, provider);
    if (why !== undefined) declined[name] = why;
    else
      candidates.push({
        name,
        provider,
        fit: fitIn(pool, ledger, request, name, provider),
        isAvoided: isAvoided(pool, request.labels, name, now),
      });
  }
  if (candidates.length === 0) {
    const { waits: _waits, target: _target, ...rest } = request;
    changeRequest(pool, request.id, () => ({ ...rest, state: 'failed', since: now, declined }));
    return undefined;
  }
  return candidates.toSorted(
    (one, other) =>
      Number(one.isAvoided) - Number(other.isAvoided) ||
      rankOf(request, one) - rankOf(request, other) ||
      one.provider.priority - other.provider.priority ||
      loadOf(ledger, one) - loadOf(ledger, other) ||
      (one.name < other.name ? -1 : 1),
  );
}

/** The one that the requester prefers, then those that have all nodes ready, then the others. */
function rankOf({ prefers }: NodeRequest, { name, fit }: Candidate): number {
  if (name === prefers) return 0;
  return fit.is === 'fits' && fit.made === 0 ? 1 : 2;
}

function loadOf({ used }: CapacityLedger, { name, provider }: Candidate): number {
  const limit = provider.limits['nodes'];
  const nodes = used[name]?.['nodes'] ?? 0;
  return limit === undefined ? nodes / 1e6 : nodes / Math.max(1, limit);
}

interface Choice {
  readonly name: string;
  readonly takes: readonly (string | undefined)[];
  readonly now: number;
}

function assign(
  pool: PoolState,
  ledger: CapacityLedger,
  request: NodeRequest,
  { name, takes, now }: Choice,
): void {
  const { id, tenant } = request;
  const nodes = supply(pool, ledger, request, { providerPool: name, takes, now });
  addShare(ledger, tenant, nodes.length);
  noteServed(pool, tenant, now);
  const { waits: _waits, target: _target, ...rest } = request;
  changeRequest(pool, id, () => ({ ...rest, state: 'pending', since: now, providerPool: name, nodes }));
  fulfilIfWhole(pool, id, now);
}

/** Reserves freed capacity of one provider pool for this request; later ones do not get it. */
function wait(
  pool: PoolState,
  ledger: CapacityLedger,
  request: NodeRequest,
  candidates: readonly Candidate[],
  now: number,
): void {
  // Neither a tenant at its limit nor a missing image blocks other requests, nor does a paused label.
  const waiting = candidates.filter(
    ({ fit: { is } }) => is !== 'tenant' && is !== 'full' && is !== 'withoutImage' && is !== 'paused',
  );
  const target =
    waiting.find(({ name }) => name === request.target) ??
    waiting.find(({ fit }) => fit.is === 'short') ??
    waiting[0];
  for (const { fit } of candidates)
    if (fit.is === 'short' && fit.missing.account !== undefined) ledger.awaitsQuota.add(fit.missing.account);
  const why = reasonFor(request, target ?? candidates[0]);
  if (request.waits !== why || request.target !== target?.name) {
    const { target: _target, ...rest } = request;
    changeRequest(pool, request.id, () => ({
      ...rest,
      waits: why,
      ...(target === undefined ? {} : { target: target.name }),
    }));
  }
  if (target === undefined || target.fit.is === 'behind') return;
  ledger.blocked.set(target.name, request.tenant);
  if (target.fit.is !== 'short') return;
  for (const [index, label] of request.labels.entries()) {
    if (target.fit.takes[index] !== undefined) ledger.idle[offerKey(target.name, label)]?.shift();
  }
  makeRoom(pool, ledger, {
    name: target.name,
    missing: target.fit.missing.amounts,
    request: request.id,
    now,
  });
}

function reasonFor({ tenant }: NodeRequest, candidate: Candidate | undefined): string {
  if (candidate === undefined) return 'no provider pool';
  const { name, fit } = candidate;
  switch (fit.is) {
    case 'tenant':
    case 'full':
      return fit.why;
    case 'behind':
      return `provider pool ${name}: ${behindText(tenant, fit.tenant)}`;
    case 'withoutImage':
      return `provider pool ${name}: ${fit.why}`;
    case 'paused':
      return `provider pool ${name}: ${fit.why}`;
    case 'short':
      return `provider pool ${name}: ${fit.missing.why}`;
    default:
      return '';
  }
}

function behindText(tenant: string | undefined, first: string | undefined): string {
  if (first === tenant) return 'earlier requests wait there';
  return `requests ${first === undefined ? 'without a tenant' : `of tenant ${first}`} come first`;
}
