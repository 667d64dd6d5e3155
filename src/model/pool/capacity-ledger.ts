import { milliseconds } from '../milliseconds.js';
import { bareRecord } from '../bare-record.js';
import { addTo, amountsText, excess, isNothing, most, plus, times, type Amounts } from './amounts.js';
import { versionStatusOf } from './library.js';
import { isSeen } from './last-seen.js';
import { isIdle, type PoolNode } from './node.js';
import { nodesLeft } from './room.js';
import type { PoolState } from './state.js';
import type { ProviderPoolSpec } from './spec.js';

/** Used and free capacity, computed once per admission pass and kept up to date during it. */
export interface CapacityLedger {
  /** By provider pool, by account, by tenant. */
  readonly used: Record<string, Record<string, number>>;
  readonly accounts: Record<string, Record<string, number>>;
  readonly tenants: Record<string, Record<string, number>>;
  /** By provider pool: what nodes take that will be gone by themselves. */
  readonly leaving: Record<string, Record<string, number>>;
  /**
   * By provider pool and label: nodes without a user; ready ones first, those of the newest image before
   * others, those seen lately before others, the oldest first.
   */
  readonly idle: Record<string, string[]>;
  /** By provider pool and label: machines with room for further nodes; the fullest first. */
  readonly rooms: Record<string, Room[]>;
  /** By tenant, those without one under an empty name: nodes in use, and nodes being created for requests. */
  readonly shares: Record<string, number>;
  /** Accounts whose quota leaves no room for a node that is wanted. */
  readonly awaitsQuota: Set<string>;
  /** Provider pools where a request waits for room, and its tenant. */
  readonly blocked: Map<string, string | undefined>;
  /** Nodes that the pool's state has room for. */
  nodesLeft: number;
}

interface Room {
  readonly backing: string;
  readonly slots: number;
  free: number;
}

export function offerKey(providerPool: string, label: string): string {
  return `${providerPool}/${label}`;
}

export function openLedger(pool: PoolState, now: number): CapacityLedger {
  const ledger: CapacityLedger = {
    used: {},
    accounts: {},
    tenants: bareRecord(),
    leaving: {},
    idle: {},
    rooms: {},
    shares: bareRecord(),
    awaitsQuota: new Set(),
    blocked: new Map(),
    nodesLeft: nodesLeft(pool),
  };
  const idle: PoolNode[] = [];
  for (const node of Object.values(pool.nodes)) {
    enter(pool, ledger, node);
    if (isIdle(node) && !isOutdated(pool, node)) idle.push(node);
  }
  // The order of preference, then the oldest first.
  const rankOf = (node: PoolNode): number =>
    4 * Number(node.state === 'building') +
    2 * Number(versionStatusOf(pool, node) === 'superseded') +
    Number(!isSeen(pool, node, now));
  const ranks = new Map(idle.map((node) => [node, rankOf(node)]));
  idle.sort(
    (one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0) || one.createdAt - other.createdAt,
  );
  for (const { id, providerPool, label } of idle)
    (ledger.idle[offerKey(providerPool, label)] ??= []).push(id);
  openRooms(pool, ledger, now);
  return ledger;
}

function enter(pool: PoolState, ledger: CapacityLedger, node: PoolNode): void {
  const { providerPool, uses, tenant, state, request } = node;
  take(pool, ledger, providerPool, uses);
  if (request !== undefined) addShare(ledger, tenant, 1);
  takeForTenant(ledger, node, 1);
  const goes =
    state === 'deleting' || (state === 'used' && pool.spec?.labels[node.label]?.onReturn !== 'reuse');
  if (goes) addTo((ledger.leaving[providerPool] ??= {}), uses);
}

/** Counts the node for its tenant's limits; with -1, no longer. */
export function takeForTenant(
  { tenants }: CapacityLedger,
  node: Pick<PoolNode, 'tenant' | 'backing' | 'uses'>,
  count: 1 | -1,
): void {
  const { tenant } = node;
  if (tenant === undefined) return;
  const use = tenantUse(node);
  addTo((tenants[tenant] ??= {}), count === 1 ? use : times(use, count));
}

export function addShare({ shares }: CapacityLedger, tenant: string | undefined, nodes: number): void {
  shares[tenant ?? ''] = (shares[tenant ?? ''] ?? 0) + nodes;
}

/** Records the creation of a machine. */
export function take(pool: PoolState, ledger: CapacityLedger, providerPool: string, uses: Amounts): void {
  addTo((ledger.used[providerPool] ??= {}), uses);
  const account = pool.spec?.providerPools[providerPool]?.provider;
  if (account !== undefined) addTo((ledger.accounts[account] ??= {}), uses);
}

/** A node on a shared machine counts as one node for its tenant. */
export function tenantUse({ backing, uses }: Pick<PoolNode, 'backing' | 'uses'>): Amounts {
  return backing === undefined ? uses : { nodes: 1 };
}

/** How much too much something would be in a provider pool. */
export interface Missing {
  /** By all limits that hold there. */
  readonly amounts: Amounts;
  /** By the quota of this account; absent if that leaves room. */
  readonly account?: string;
  /** For people: which limits, and their sizes. */
  readonly why: string;
}

/**
 * How much too much it would be, by all limits that hold in the provider pool; undefined if there is room.
 */
export function missingFor(
  pool: PoolState,
  ledger: CapacityLedger,
  name: string,
  { provider: account, limits, ignoreQuota }: ProviderPoolSpec,
  cost: Amounts,
): Missing | undefined {
  const own = excess(plus(ledger.used[name] ?? {}, cost), pickUsed(cost, limits));
  const quota = ignoreQuota === true ? undefined : pool.quotas[account]?.limits;
  const byQuota =
    quota === undefined ? {} : excess(plus(ledger.accounts[account] ?? {}, cost), pickUsed(cost, quota));
  const amounts = most(own, byQuota);
  if (isNothing(amounts)) return undefined;
  const whys = [
    ...Object.keys(own).map(
      (key) => `${overLimit(own, key)} its limit of ${amountsText({ [key]: limits[key] ?? 0 })}`,
    ),
    ...Object.keys(byQuota).map(
      (key) =>
        `${overLimit(byQuota, key)} what the quota of account ${account} leaves, ${amountsText({ [key]: quota?.[key] ?? 0 })}`,
    ),
  ];
  return { amounts, ...(isNothing(byQuota) ? {} : { account }), why: whys.join('; ') };
}

/** `1 node over`. */
export function overLimit(over: Amounts, key: string): string {
  return `${amountsText({ [key]: over[key] ?? 0 })} over`;
}

/** A limit below the present use does not affect offers that use none of it. */
function pickUsed(cost: Amounts, limits: Amounts): Amounts {
  return Object.fromEntries(Object.entries(limits).filter(([key]) => (cost[key] ?? 0) > 0));
}

function openRooms(pool: PoolState, ledger: CapacityLedger, now: number): void {
  const taken: Record<string, number> = {};
  for (const { backing } of Object.values(pool.nodes))
    if (backing !== undefined) taken[backing] = (taken[backing] ?? 0) + 1;
  for (const node of Object.values(pool.nodes)) {
    if (node.slots === undefined || !isInService(pool, node, now) || isReplaced(pool, node)) continue;
    const free = node.slots - (taken[node.id] ?? 0);
    if (free > 0)
      (ledger.rooms[offerKey(node.providerPool, node.label)] ??= []).push({
        backing: node.id,
        slots: node.slots,
        free,
      });
  }
  for (const rooms of Object.values(ledger.rooms)) rooms.sort((one, other) => one.free - other.free);
}

/** A machine of several nodes takes further ones while it is well, young and as the configuration has it. */
function isInService(pool: PoolState, node: PoolNode, now: number): boolean {
  if ((node.state !== 'ready' && node.state !== 'building') || isOutdated(pool, node)) return false;
  const maxAge = pool.spec?.providerPools[node.providerPool]?.labels[node.label]?.maxAge;
  return maxAge === undefined || now - node.createdAt < milliseconds(maxAge);
}

/**
 * A machine of several nodes that was made from an older image takes further ones only while nodes are to be
 * kept ready, and no newer machine is.
 */
function isReplaced(pool: PoolState, node: PoolNode): boolean {
  if (versionStatusOf(pool, node) !== 'superseded') return false;
  return (
    pool.spec?.labels[node.label]?.minReady === 0 ||
    Object.values(pool.nodes).some(
      (other) =>
        other.label === node.label &&
        other.slots !== undefined &&
        other.state === 'ready' &&
        versionStatusOf(pool, other) === 'current',
    )
  );
}

/**
 * Its label or provider pool is configured otherwise now, or not at all; or the image that it was made from
 * was taken back.
 */
export function isOutdated(pool: PoolState, node: PoolNode): boolean {
  const { placements, nodes } = pool;
  const { machine } = node.backing === undefined ? node : (nodes[node.backing] ?? node);
  const placement = placements[node.providerPool]?.[node.label];
  if (placement === undefined || versionStatusOf(pool, node) === 'withdrawn') return true;
  return machine.facts.machine !== undefined && machine.facts.machine !== placement.digest;
}
