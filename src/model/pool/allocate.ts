import { milliseconds } from '../milliseconds.js';
import { isOutdated } from './capacity-ledger.js';
import { wasProbedFor } from './last-seen.js';
import { versionStatusOf } from './library.js';
import { mayBecome, type PoolNode, type PoolNodeState } from './node.js';
import { defaultLeaseMs, defaultPriority, type NodeDemand, type NodeRequest } from './request.js';
import { changePoolNode, changeRequest, endRequest, nextVersion, type PoolState } from './state.js';

/** Takes a demand up; the same id again is the same request. */
export function addRequest(pool: PoolState, demand: NodeDemand, now: number): void {
  const {
    id,
    labels,
    requester,
    attributes = {},
    priority = defaultPriority,
    leaseMs = defaultLeaseMs,
    tenant,
    tags,
    heldMs,
    providerPool: prefers,
  } = demand;
  if (pool.requests[id] !== undefined || pool.ended.some((ended) => ended.id === id)) return;
  pool.counters.request += 1;
  pool.requests[id] = {
    id,
    seq: pool.counters.request,
    labels,
    priority,
    requester,
    attributes,
    leaseMs,
    state: 'requested',
    createdAt: now,
    since: now,
    nodes: [],
    declined: {},
    failures: 0,
    version: nextVersion(pool),
    tenant,
    prefers,
    tags,
    ...(heldMs === undefined ? {} : { heldMs, heldUntil: now + heldMs }),
  };
}

/** Hands the nodes of a request out when all of them are ready and were seen to answer. */
export function fulfilIfWhole(pool: PoolState, id: string, now: number): void {
  const request = pool.requests[id];
  if (request?.state !== 'pending') return;
  const isWhole = request.nodes.every((node) => {
    const given = pool.nodes[node];
    return given?.state === 'ready' && wasProbedFor(pool, request, given, now);
  });
  if (!isWhole) return;
  for (const node of request.nodes) {
    setNodeState(pool, node, 'in-use', now);
    changePoolNode(pool, node, (before) => ({ ...before, handedOut: before.handedOut + 1 }));
  }
  // What failed on the way is over.
  changeRequest(pool, id, ({ lastFailure: _lastFailure, ...before }) => ({
    ...before,
    state: 'fulfilled',
    since: now,
    ...leaseOf(before, now),
  }));
}

/** Renews the lease of a request, or of its place in the queue if it is held. */
export function renewLease(pool: PoolState, id: string, now: number): boolean {
  const request = pool.requests[id];
  if (request === undefined) return false;
  if (isWaiting(request) && request.heldMs !== undefined) {
    pool.requests[id] = { ...request, heldUntil: now + request.heldMs };
    return true;
  }
  if (request.state !== 'fulfilled') return false;
  // Clients do not wait for this change, so the version stays.
  pool.requests[id] = { ...request, ...leaseOf(request, now) };
  return true;
}

/** Whether it has no nodes yet. */
export function isWaiting({ state }: NodeRequest): boolean {
  return state === 'requested' || state === 'pending';
}

/** Ends a request in any state. Allocated nodes count as used; others serve the next request. */
export function returnNodes(
  pool: PoolState,
  id: string,
  how: 'returned' | 'cancelled' | 'expired',
  now: number,
): void {
  const request = pool.requests[id];
  if (request === undefined) return;
  for (const node of request.nodes) letGo(pool, node, id, now);
  endRequest(pool, id, how, now);
}

/**
 * What a node is after the request that it was for has ended, or has to do without it. One that it lost may
 * be another's by now.
 */
function letGo(pool: PoolState, id: string, request: string, now: number): void {
  const node = pool.nodes[id];
  if (node === undefined || node.request !== request) return;
  if (node.state === 'in-use') return afterUse(pool, node, now);
  if (node.state === 'hold') return changePoolNode(pool, id, withoutRequest);
  if (node.backing !== undefined) return dropNode(pool, id, now);
  changePoolNode(pool, id, withoutRequest);
}

/** Deletes a used node, or cleans it up if its label reuses nodes. */
export function afterUse(pool: PoolState, node: PoolNode, now: number): void {
  changePoolNode(pool, node.id, withoutRequest);
  if (node.backing !== undefined) return dropNode(pool, node.id, now);
  const label = pool.spec?.labels[node.label];
  if (
    label?.onReturn !== 'reuse' ||
    pool.leaving !== undefined ||
    isOutdated(pool, node) ||
    versionStatusOf(pool, node) === 'superseded'
  )
    return setNodeState(pool, node.id, 'deleting', now, 'was used');
  setNodeState(pool, node.id, 'used', now);
  if (label.cleanUp === undefined) reuse(pool, node.id, now);
}

/** Ready again; its provider is notified if it subscribes to reuse. */
export function reuse(pool: PoolState, id: string, now: number): void {
  setNodeState(pool, id, 'ready', now);
  if (pool.notifiedOfReuse?.includes(pool.nodes[id]?.providerPool ?? '') === true)
    changePoolNode(pool, id, (node) => ({ ...node, reused: true }));
}

export interface Hold {
  readonly by: string;
  readonly comment: string;
  /** Ms from now; the label's own limit holds beside it. */
  readonly forMs?: number;
}

/** Holds a node for inspection; its request, if it has one, continues without it. */
export function holdNode(pool: PoolState, id: string, { by, comment, forMs }: Hold, now: number): boolean {
  const node = pool.nodes[id];
  if (
    node === undefined ||
    node.slots !== undefined ||
    !mayBecome(node, 'hold') ||
    (node.state === 'ready' && node.request !== undefined)
  )
    return false;
  const maxHoldAge = pool.spec?.labels[node.label]?.maxHoldAge;
  const limits = [forMs, maxHoldAge === undefined ? undefined : milliseconds(maxHoldAge)].filter(
    (limit) => limit !== undefined,
  );
  const until = limits.length === 0 ? undefined : now + Math.min(...limits);
  setNodeState(pool, id, 'hold', now);
  changePoolNode(pool, id, (before) => ({ ...before, hold: { by, comment, until } }));
  return true;
}

/** Deletes a node on a person's request. A waiting request gets another one; a fulfilled one loses it. */
export function deleteNode(pool: PoolState, id: string, why: string, now: number): boolean {
  const node = pool.nodes[id];
  if (node === undefined || node.state === 'deleting') return false;
  const request = node.request === undefined ? undefined : pool.requests[node.request];
  if (node.state !== 'in-use' && request?.state === 'pending') resumeNode(pool, request.id, now);
  if (node.slots !== undefined) return retireBacking(pool, node, why, now);
  if (node.backing !== undefined) {
    dropNode(pool, id, now);
    return true;
  }
  changePoolNode(pool, id, withoutRequest);
  setNodeState(pool, id, 'deleting', now, why);
  return true;
}

/** The request starts over: its healthy nodes are free now and are found again. */
export function resumeNode(pool: PoolState, id: string, now: number): void {
  const request = pool.requests[id];
  if (request?.state !== 'pending') return;
  for (const node of request.nodes) letGo(pool, node, id, now);
  const { providerPool: _providerPool, ...rest } = request;
  changeRequest(pool, id, () => ({ ...rest, state: 'requested', since: now, nodes: [] }));
}

/**
 * A machine of several nodes goes with those that stand on it: a free one at once, others when they are
 * returned.
 */
function retireBacking(pool: PoolState, node: PoolNode, why: string, now: number): boolean {
  for (const slice of Object.values(pool.nodes).filter(({ backing }) => backing === node.id))
    deleteNode(pool, slice.id, why, now);
  setNodeState(pool, node.id, 'deleting', now, why);
  return true;
}

/** Changes the state where the table allows it. A fault of ours, not of the outside, so it is loud. */
export function setNodeState(
  pool: PoolState,
  id: string,
  state: PoolNodeState,
  now: number,
  why?: string,
): void {
  const node = pool.nodes[id];
  if (node === undefined || node.state === state) return;
  if (!mayBecome(node, state)) throw new Error(`node ${id} is ${node.state} and cannot become ${state}`);
  changePoolNode(pool, id, ({ why: _why, hold: _hold, againAt: _againAt, silent: _silent, ...before }) => ({
    ...before,
    state,
    since: now,
    ...(why === undefined ? {} : { why }),
  }));
}

/** Removes a node whose machine no longer exists, or that never had its own. */
export function dropNode(pool: PoolState, id: string, now: number): void {
  const backing = pool.nodes[id]?.backing;
  delete pool.nodes[id];
  // From now on it may be empty: its retention begins.
  if (backing !== undefined) changePoolNode(pool, backing, (node) => ({ ...node, since: now }));
}

export function withoutRequest({ request: _request, tenant: _tenant, ...node }: PoolNode): PoolNode {
  return node;
}

function leaseOf({ tags, leaseMs }: NodeRequest, now: number): Pick<NodeRequest, 'expiresAt'> {
  return tags === undefined ? { expiresAt: now + leaseMs } : {};
}
