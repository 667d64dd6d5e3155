import { amountsText, excess, isNothing, overText, plus, times, type Amounts } from './amounts.js';
import {
  missingFor,
  offerKey,
  overLimit,
  tenantUse,
  type CapacityLedger,
  type Missing,
} from './capacity-ledger.js';
import { lacksImage } from './library.js';
import { pauseOf } from './pause.js';
import type { NodeRequest } from './request.js';
import { fullText } from './room.js';
import { usesOf } from './sizes.js';
import type { ProviderPoolSpec } from './spec.js';
import type { PoolState } from './state.js';

/** How a request would be served by one provider pool at this moment. */
export type Fit =
  /** `takes` has a node ID for each label, or undefined if a node must be created. */
  | { readonly is: 'fits'; readonly takes: readonly (string | undefined)[]; readonly made: number }
  /** There is no capacity now. `takes`: the existing nodes that it would use. */
  | { readonly is: 'short'; readonly missing: Missing; readonly takes: readonly (string | undefined)[] }
  /** A request of this tenant waits there, and comes first. */
  | { readonly is: 'behind'; readonly tenant: string | undefined }
  | { readonly is: 'paused'; readonly why: string }
  /** The pool's state has no room for more nodes. */
  | { readonly is: 'full'; readonly why: string }
  | { readonly is: 'tenant'; readonly why: string }
  /** The image for its nodes does not exist yet. */
  | { readonly is: 'withoutImage'; readonly why: string };

export function fitIn(
  pool: PoolState,
  ledger: CapacityLedger,
  request: Pick<NodeRequest, 'labels' | 'tenant'>,
  name: string,
  provider: ProviderPoolSpec,
): Fit {
  const over = tenantExcess(pool, ledger, request, name);
  if (!isNothing(over)) return { is: 'tenant', why: tenantText(pool, request.tenant, over) };
  const used: Record<string, number> = {};
  const takes = request.labels.map((label) => {
    const key = offerKey(name, label);
    const at = used[key] ?? 0;
    used[key] = at + 1;
    return ledger.idle[key]?.[at];
  });
  const open = request.labels.filter((_label, index) => takes[index] === undefined);
  const inRooms = open.length > 0 && open.every((label) => provider.labels[label]?.slots !== undefined);
  const cost = costOf(pool, ledger, name, open);
  if (open.length > ledger.nodesLeft) return { is: 'full', why: fullText };
  if (open.length === 0 || (inRooms && isNothing(cost))) return { is: 'fits', takes, made: open.length };
  const withoutImage = open.map((label) => lacksImage(pool, name, label)).find((why) => why !== undefined);
  if (withoutImage !== undefined) return { is: 'withoutImage', why: withoutImage };
  if (ledger.blocked.has(name)) return { is: 'behind', tenant: ledger.blocked.get(name) };
  const pause = open
    .map((label) => pauseOf(pool, { providerPool: name, label }))
    .find((found) => found !== undefined);
  if (pause !== undefined) return { is: 'paused', why: pause.why };
  const missing = missingFor(pool, ledger, name, provider, cost);
  return missing === undefined ? { is: 'fits', takes, made: open.length } : { is: 'short', missing, takes };
}

/** Why the provider pool can never serve these labels as things are configured; undefined where it can. */
export function refusalOf(
  pool: PoolState,
  request: Pick<NodeRequest, 'labels' | 'tenant'>,
  name: string,
  provider: ProviderPoolSpec,
): string | undefined {
  const unserved = request.labels.find((label) => provider.labels[label] === undefined);
  if (unserved !== undefined) return `does not serve label ${unserved}`;
  if (provider.limits['nodes'] === 0) return 'is disabled: its limit is 0 nodes';
  const cost = costOf(pool, undefined, name, request.labels);
  if (!isNothing(excess(cost, provider.limits)))
    return `its limits are too small: ${overText(cost, provider.limits)}`;
  const quota = provider.ignoreQuota === true ? undefined : pool.quotas[provider.provider]?.total;
  if (quota !== undefined && !isNothing(excess(cost, quota)))
    return `the quota of account ${provider.provider} is too small: ${overText(cost, quota)}`;
  const limit = tenantLimits(pool, request.tenant);
  const ofTenant = tenantCost(pool, name, request.labels);
  return limit === undefined || isNothing(excess(ofTenant, limit))
    ? undefined
    : `the limits of tenant ${request.tenant} are too small: ${overText(ofTenant, limit)}`;
}

/**
 * Whether requests are better served elsewhere: a machine of one of these labels was too slow there lately.
 */
export function isAvoided(pool: PoolState, labels: readonly string[], name: string, now: number): boolean {
  return labels.some((label) => (pool.resting[offerKey(name, label)]?.until ?? 0) > now);
}

/** What the machines take that must be made for these labels. */
export function costOf(
  pool: PoolState,
  ledger: CapacityLedger | undefined,
  name: string,
  labels: readonly string[],
): Amounts {
  let cost: Amounts = {};
  const shared: Record<string, number> = {};
  const offers = pool.spec?.providerPools[name]?.labels ?? {};
  for (const label of labels) {
    const offer = offers[label];
    if (offer === undefined) continue;
    if (offer.slots === undefined) cost = plus(cost, usesOf(pool, name, label));
    else shared[label] = (shared[label] ?? 0) + 1;
  }
  for (const [label, count] of Object.entries(shared)) {
    const { slots = 1 } = offers[label] ?? {};
    const free = ledger?.rooms[offerKey(name, label)]?.reduce((sum, room) => sum + room.free, 0) ?? 0;
    cost = plus(cost, times(usesOf(pool, name, label), Math.ceil(Math.max(0, count - free) / slots)));
  }
  return cost;
}

function tenantExcess(
  pool: PoolState,
  ledger: CapacityLedger,
  { tenant, labels }: Pick<NodeRequest, 'labels' | 'tenant'>,
  name: string,
): Amounts {
  const limit = tenantLimits(pool, tenant);
  if (tenant === undefined || limit === undefined) return {};
  return excess(plus(ledger.tenants[tenant] ?? {}, tenantCost(pool, name, labels)), limit);
}

function tenantText(pool: PoolState, tenant: string | undefined, over: Amounts): string {
  const limits = tenantLimits(pool, tenant) ?? {};
  return Object.keys(over)
    .map((key) => `${overLimit(over, key)} its tenant's limit of ${amountsText({ [key]: limits[key] ?? 0 })}`)
    .join('; ');
}

/** A tenant is any text, and most have no limits. */
function tenantLimits({ spec }: PoolState, tenant: string | undefined): Amounts | undefined {
  return tenant === undefined || spec === undefined || !Object.hasOwn(spec.tenants, tenant)
    ? undefined
    : spec.tenants[tenant];
}

function tenantCost(pool: PoolState, name: string, labels: readonly string[]): Amounts {
  return labels.reduce<Amounts>((sum, label) => {
    const { slots } = pool.spec?.providerPools[name]?.labels[label] ?? {};
    return plus(
      sum,
      tenantUse({ uses: usesOf(pool, name, label), backing: slots === undefined ? undefined : label }),
    );
  }, {});
}
