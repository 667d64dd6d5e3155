import { bareRecord } from '../bare-record.js';
import type { CapacityLedger } from './capacity-ledger.js';
import { inOrder } from './order.js';
import type { NodeRequest } from './request.js';
import type { PoolState } from './state.js';

/** A tenant whose requests wait for so long without any being served comes first, whatever it has. */
const overdueMs = 10 * 60_000;
/** Tenants whose last service is remembered. */
const mostServed = 1_000;

/**
 * Requests that wait, the next one first. Among those of equal priority the next is of the
 * tenant with the fewest nodes for its weight; it is chosen after the one before was served,
 * from what tenants have then. Requests that are `isPassed` are left out. Changes nothing.
 */
export function* inFairOrder(
  pool: PoolState,
  ledger: CapacityLedger,
  isPassed: (request: NodeRequest) => boolean,
  now: number,
): Generator<NodeRequest> {
  const waiting = inOrder(pool);
  for (let from = 0; from < waiting.length;) {
    const priority = waiting[from]?.priority;
    let to = from + 1;
    while (waiting[to]?.priority === priority) to += 1;
    yield* fairly(pool, ledger, waiting.slice(from, to), isPassed, now);
    from = to;
  }
}

export function noteServed(pool: PoolState, tenant: string | undefined, now: number): void {
  (pool.servedAt ??= bareRecord())[tenant ?? ''] = now;
}

/**
 * Forgets what no longer matters, and the longest ago if that is too much: a tenant is any text of a caller.
 */
export function forgetServed({ servedAt = {} }: PoolState, now: number): void {
  for (const [tenant, at] of Object.entries(servedAt)) if (isForgotten(at, now)) delete servedAt[tenant];
  const left = Object.entries(servedAt);
  if (left.length <= mostServed) return;
  left.sort(([, one], [, other]) => one - other);
  for (const [tenant] of left.slice(0, left.length - mostServed)) delete servedAt[tenant];
}

/** What a tenant's nodes count for. */
export function weightOf({ spec }: PoolState, tenant = ''): number {
  const { weights = {} } = spec ?? {};
  return Object.hasOwn(weights, tenant) ? (weights[tenant] ?? 1) : 1;
}

/** The waiting requests of one tenant. */
interface Queue {
  readonly tenant: string;
  readonly requests: NodeRequest[];
  /** Of the next request. */
  at: number;
}

/** The next request of a queue, with what decides between tenants. */
interface Claim {
  readonly queue: Queue;
  readonly request: NodeRequest;
  /** Since when no request was served, if that is too long; otherwise `Infinity`. */
  readonly overdueSince: number;
  readonly share: number;
  readonly servedAt: number;
}

function* fairly(
  pool: PoolState,
  ledger: CapacityLedger,
  waiting: readonly NodeRequest[],
  isPassed: (request: NodeRequest) => boolean,
  now: number,
): Generator<NodeRequest> {
  // The last comes next, so that it is taken off without moving the others.
  const claims: Claim[] = [];
  const enter = (queue: Queue): void => {
    for (; ; queue.at += 1) {
      const request = queue.requests[queue.at];
      if (request === undefined) return;
      if (!isPassed(request)) return insert(claims, claimOf(pool, ledger, queue, request, now));
    }
  };
  for (const queue of queuesOf(waiting)) enter(queue);
  for (let claim = claims.pop(); claim !== undefined; claim = claims.pop()) {
    yield claim.request;
    claim.queue.at += 1;
    enter(claim.queue);
  }
}

function queuesOf(waiting: readonly NodeRequest[]): Iterable<Queue> {
  const queues = new Map<string, Queue>();
  for (const request of waiting) {
    const { tenant = '' } = request;
    const queue = queues.get(tenant);
    if (queue === undefined) queues.set(tenant, { tenant, requests: [request], at: 0 });
    else queue.requests.push(request);
  }
  return queues.values();
}

function claimOf(
  pool: PoolState,
  { shares }: CapacityLedger,
  queue: Queue,
  request: NodeRequest,
  now: number,
): Claim {
  const { tenant } = queue;
  const last = pool.servedAt?.[tenant] ?? 0;
  const servedAt = isForgotten(last, now) ? 0 : last;
  const unservedSince = Math.max(servedAt, request.createdAt);
  const overdueSince = unservedSince + overdueMs <= now ? unservedSince : Infinity;
  return { queue, request, overdueSince, share: (shares[tenant] ?? 0) / weightOf(pool, tenant), servedAt };
}

/** Keeps the claims sorted, the next one last. */
function insert(claims: Claim[], claim: Claim): void {
  let low = 0;
  let high = claims.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = claims[middle];
    if (other !== undefined && isBefore(claim, other)) low = middle + 1;
    else high = middle;
  }
  claims.splice(low, 0, claim);
}

function isBefore(one: Claim, other: Claim): boolean {
  if (one.overdueSince !== other.overdueSince) return one.overdueSince < other.overdueSince;
  if (one.share !== other.share) return one.share < other.share;
  if (one.servedAt !== other.servedAt) return one.servedAt < other.servedAt;
  return one.request.seq < other.request.seq;
}

/** A tenant that was served so long ago is overdue by the age of its request alone. */
function isForgotten(servedAt: number, now: number): boolean {
  return servedAt + overdueMs <= now;
}
