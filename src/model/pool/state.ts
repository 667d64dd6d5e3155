import { bareRecord } from '../bare-record.js';
import { firstWithin } from '../carried.js';
import type { ImageUpdate } from '../image/notification.js';
import type { Moved } from '../move.js';
import type { Amounts } from './amounts.js';
import type { PoolFailure } from '../../schema/output/pool.js';
import type { PoolNode } from './node.js';
import type { EndedRequest, NodeRequest } from './request.js';
import type { Placements, PoolSpec, ProviderTraits } from './spec.js';

/**
 * Everything a pool's workflow carries from run to run. Plain JSON. Records are large and change often, so
 * they are changed in place; their values are replaced, never changed.
 */
export interface PoolState {
  readonly name: string;
  /** Made once; the first part of the keys of its machines. */
  readonly uid: string;
  /** Absent until it was configured. */
  spec?: PoolSpec;
  placements: Placements;
  /** What images of the library said of themselves, by their names; absent: none was asked. */
  library?: Readonly<Record<string, ImageUpdate>>;
  /** Provider pools whose provider is notified when a node is reused. */
  notifiedOfReuse?: readonly string[];
  /** Provider accounts whose tasks may be batched: several nodes in one activity. */
  batchedAccounts?: readonly string[];
  /** By type, of the accounts that the configuration names. */
  providerTypes?: Readonly<Record<string, ProviderTraits>>;
  readonly nodes: Record<string, PoolNode>;
  readonly requests: Record<string, NodeRequest>;
  /** The last that ended, newest first. */
  ended: readonly EndedRequest[];
  /**
   * When a person last abandoned a node whose machine was unknown to its provider, in ms since
   * the epoch by the server's clock.
   */
  absenceConfirmedAt?: number;
  readonly counters: { node: number; request: number; version: number };
  /** By `<provider pool>/<label>`: what its account refused for its quota. */
  readonly paused: Record<string, Pause>;
  /** What the accounts' quotas leave for this pool, if the accounts report them. */
  readonly quotas: Record<string, Quota>;
  /** By account: when its quota was last requested. */
  readonly quotasAskedAt: Record<string, number>;
  /** Accounts whose quota leaves no room for a node that is wanted, and since when. */
  awaitsQuota: Readonly<Record<string, number>>;
  /** Labels in provider pools whose spare machines failed: `<provider pool>/<label>`. */
  readonly resting: Record<string, { readonly until: number; readonly failures: number }>;
  /** By `<provider pool>/<label>`: the last failure since a machine was ready there. */
  failures?: Readonly<Record<string, { readonly why: string; readonly at: number }>>;
  /** Failures of the last day, the newest first. */
  recentFailures?: readonly PoolFailure[];
  /** By `<provider pool>/<label>`, in ms: how long the last machine took. */
  launchTimes?: Readonly<Record<string, { readonly acceptedMs: number; readonly readyMs: number }>>;
  /** By account and flavor: what one machine takes of the limits. */
  sizes?: Readonly<Record<string, Readonly<Record<string, Amounts>>>>;
  /** By `<provider pool>/<label>`: number of consecutive quota errors. */
  refusals?: Readonly<Record<string, number>>;
  /** By tenant: when its last request got nodes. Forgotten when it no longer matters. */
  servedAt?: Record<string, number>;
  /** When the ready nodes of each provider pool were last checked. */
  readonly checkedAt: Record<string, number>;
  /** While it is exported, it creates, deletes and allocates nothing. */
  exported?: Moved['exported'];
  restored?: Moved['restored'];
  moves?: Moved['moves'];
  /** Set when the pool is being deleted: it accepts no requests, and ends with its last node. */
  leaving?: { readonly by: string; readonly at: number };
}

export interface Pause {
  readonly since: number;
  readonly until: number;
  readonly why: string;
  /** Number of consecutive times. */
  readonly times: number;
}

interface Quota {
  /** What the account allows in all. */
  readonly total: Amounts;
  /** What this pool may have of the account. */
  readonly limits: Amounts;
  readonly readAt: number;
}

/** Ended requests that are remembered. */
const rememberedEnds = 200;
const mostEndedBytes = 60_000;

export function newPool(name: string, uid: string): PoolState {
  return {
    name,
    uid,
    placements: {},
    nodes: bareRecord(),
    requests: bareRecord(),
    ended: [],
    counters: { node: 0, request: 0, version: 0 },
    paused: {},
    quotas: {},
    quotasAskedAt: {},
    awaitsQuota: {},
    resting: {},
    checkedAt: {},
  };
}

export function changePoolNode(pool: PoolState, id: string, change: (node: PoolNode) => PoolNode): void {
  const node = pool.nodes[id];
  if (node !== undefined) pool.nodes[id] = change(node);
}

/** Changes a request, and numbers the change. */
export function changeRequest(
  pool: PoolState,
  id: string,
  change: (request: NodeRequest) => NodeRequest,
): void {
  const request = pool.requests[id];
  if (request !== undefined) pool.requests[id] = { ...change(request), version: nextVersion(pool) };
}

export function endRequest(pool: PoolState, id: string, how: EndedRequest['how'], now: number): void {
  const request = pool.requests[id];
  if (request === undefined) return;
  const { requester, labels } = request;
  delete pool.requests[id];
  const ended = { id, requester, labels, how, at: now, version: nextVersion(pool) };
  pool.ended = firstWithin([ended, ...pool.ended].slice(0, rememberedEnds), mostEndedBytes);
}

export function nextVersion({ counters }: PoolState): number {
  counters.version += 1;
  return counters.version;
}
