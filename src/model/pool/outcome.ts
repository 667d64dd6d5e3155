import { cutText } from '../carried.js';
import { unknownOutcome, type EngineKind } from '../node/failure.js';
import { offerKey } from './capacity-ledger.js';
import {
  afterUse,
  deleteNode,
  dropNode,
  fulfilIfWhole,
  reuse,
  setNodeState,
  resumeNode,
} from './allocate.js';
import { rememberFailure } from './failures.js';
import { hasLostItsImage } from './library.js';
import type { PoolNode } from './node.js';
import { endPauses, forgetRefusals, pause } from './pause.js';
import { replaceOne } from './replace-one.js';
import { changePoolNode, changeRequest, type PoolState } from './state.js';

/** What came of the work on nodes: machines built, not built, cleaned up, deleted. */
export function nodeBuilt(pool: PoolState, id: string, now: number): void {
  const node = pool.nodes[id];
  if (node?.state !== 'building') return;
  setNodeState(pool, id, 'ready', now);
  changePoolNode(pool, id, (built) => ({ ...built, seenAt: now }));
  // A lack of capacity is over: the account created a machine.
  delete pool.resting[offerKey(node.providerPool, node.label)];
  noteLaunch(pool, node, now);
  forgetRefusals(pool, node);
  for (const ready of node.slots === undefined ? [id] : slicesOf(pool, id)) {
    if (ready !== id) setNodeState(pool, ready, 'ready', now);
    const request = pool.nodes[ready]?.request;
    if (request !== undefined) fulfilIfWhole(pool, request, now);
  }
}

export interface LaunchFailure {
  readonly kind: string;
  readonly message: string;
}

/** Kinds of failure that another machine of the same kind would meet as well. */
const permanentKinds = ['Auth', 'Invalid', unknownOutcome, 'Internal' satisfies EngineKind];
/** What is kept of a failure, in bytes of JSON. */
const longestFailure = 500;
/** Kinds by which a provider refuses before it has made anything. */
const refusals = ['Quota', 'Capacity'];

/** A machine could not be created, or never answered. */
export function launchFailed(
  pool: PoolState,
  id: string,
  { kind, message }: LaunchFailure,
  now: number,
): void {
  const node = pool.nodes[id];
  if (node?.state !== 'building') return;
  const requests = new Set(
    (node.slots === undefined ? [id] : slicesOf(pool, id)).flatMap(
      (sharing) => pool.nodes[sharing]?.request ?? [],
    ),
  );
  const spec = pool.spec?.providerPools[node.providerPool];
  noteFailure(pool, node, message, now);
  rememberFailure(pool, node, { stage: 'launch', kind, why: message }, now);
  if (kind === 'Quota') pause(pool, node, message, now);
  // Not the provider pool's fault: another machine is created from the present version.
  const isExcused = kind === 'Quota' || hasLostItsImage(pool, node);
  for (const request of requests) {
    changeRequest(pool, request, (before) => {
      const failures = before.failures + (isExcused ? 0 : 1);
      const declines =
        !isExcused &&
        (kind === 'Capacity' || permanentKinds.includes(kind) || failures >= (spec?.launchAttempts ?? 1));
      return declines
        ? {
            ...before,
            failures: 0,
            declined: { ...before.declined, [node.providerPool]: cutText(message, longestFailure) },
          }
        : { ...before, failures };
    });
    const leaves = kind === 'Quota' || pool.requests[request]?.declined[node.providerPool] !== undefined;
    if (!replaceOne(pool, node, { leaves, now })) resumeNode(pool, request, now);
  }
  if (requests.size === 0) backOffOffer(pool, node, now);
  for (const slice of node.slots === undefined ? [] : slicesOf(pool, id)) dropNode(pool, slice, now);
  changePoolNode(pool, id, ({ request: _request, tenant: _tenant, ...before }) => before);
  // Refused before anything was made: there is nothing to delete.
  if (refusals.includes(kind)) dropNode(pool, id, now);
  else setNodeState(pool, id, 'deleting', now, `was not built: ${cutText(message, longestFailure)}`);
}

/** Pauses the creation of machines of the label ahead of requests there, with increasing delays. */
export function backOffOffer(
  pool: PoolState,
  { providerPool, label }: PoolNode,
  now: number,
  leastMs = 0,
): void {
  const key = offerKey(providerPool, label);
  const failures = (pool.resting[key]?.failures ?? 0) + 1;
  const restMs = Math.max(leastMs, Math.min(10 * 60_000, 2_500 * 2 ** failures));
  pool.resting[key] = { failures, until: now + restMs };
}

/** For people: shown until a machine of the label is ready there. */
export function noteFailure(pool: PoolState, node: PoolNode, message: string, now: number): void {
  const { providerPool, label } = node;
  const why = cutText(message, longestFailure);
  pool.failures = { ...pool.failures, [offerKey(providerPool, label)]: { why, at: now } };
  for (const request of requestsOf(pool, node)) {
    // One that got another node in the place of this one may have all of its nodes already.
    if (pool.requests[request]?.state === 'fulfilled') continue;
    changeRequest(pool, request, (before) => ({ ...before, lastFailure: `${providerPool}: ${why}` }));
  }
}

function noteLaunch(pool: PoolState, node: PoolNode, now: number): void {
  const { providerPool, label, askedAt, acceptedAt = now } = node;
  const key = offerKey(providerPool, label);
  if (pool.failures?.[key] !== undefined) {
    const { [key]: _over, ...failures } = pool.failures;
    pool.failures = failures;
  }
  if (askedAt === undefined) return;
  const times = { acceptedMs: acceptedAt - askedAt, readyMs: now - askedAt };
  pool.launchTimes = { ...pool.launchTimes, [key]: times };
}

/**
 * Removes a node whose machine no longer exists. Ends pauses, so that waiting requests are considered again.
 */
export function nodeGone(pool: PoolState, id: string, now: number): void {
  const node = pool.nodes[id];
  if (node === undefined) return;
  dropNode(pool, id, now);
  endPauses(pool, node.providerPool);
}

/** A task on the node failed; it is tried again later. */
export function postpone(pool: PoolState, id: string, why: string, againAt: number): void {
  changePoolNode(pool, id, (node) => ({ ...node, why: cutText(why, longestFailure), againAt }));
}

export function nodeCleaned(pool: PoolState, id: string, now: number): void {
  if (pool.nodes[id]?.state !== 'used') return;
  reuse(pool, id, now);
  changePoolNode(pool, id, (node) => ({ ...node, seenAt: now }));
}

export function cleanUpFailed(pool: PoolState, id: string, why: string, now: number): void {
  const node = pool.nodes[id];
  if (node?.state !== 'used') return;
  rememberFailure(pool, node, { stage: 'clean-up', why }, now);
  setNodeState(pool, id, 'deleting', now, `its clean-up failed: ${why}`);
}

/** A ready node does not answer, or its machine is not as it should be. */
export function nodeUnhealthy(pool: PoolState, id: string, why: string, now: number): void {
  const node = pool.nodes[id];
  if (node === undefined || (node.state !== 'ready' && node.silent !== true)) return;
  rememberFailure(pool, node, { stage: 'check', why }, now);
  changePoolNode(pool, id, ({ silent: _silent, againAt: _again, ...before }) => ({ ...before, why }));
  const request = node.request === undefined ? undefined : pool.requests[node.request];
  if (request?.state === 'pending') resumeNode(pool, request.id, now);
  if (pool.spec?.providerPools[node.providerPool]?.keepUnwell !== true) {
    if (node.slots === undefined) deleteNode(pool, id, why, now);
    else setNodeState(pool, id, 'failed', now, why);
    return;
  }
  if (pool.nodes[id]?.state === 'ready') setNodeState(pool, id, 'failed', now, why);
}

/** It answers, or answers again. */
export function nodeHealthy(pool: PoolState, id: string, now: number): void {
  const node = pool.nodes[id];
  if (node?.state !== 'failed' && node?.state !== 'ready') return;
  setNodeState(pool, id, 'ready', now);
  changePoolNode(pool, id, (before) => ({ ...before, seenAt: now }));
  for (const request of requestsOf(pool, node)) fulfilIfWhole(pool, request, now);
}

/** Open requests that have it, or nodes on its machine. */
export function requestsOf(pool: PoolState, { id, request, slots }: PoolNode): readonly string[] {
  if (slots === undefined) return request === undefined ? [] : [request];
  return [...new Set(slicesOf(pool, id).flatMap((slice) => pool.nodes[slice]?.request ?? []))];
}

/**
 * A machine that exists came up again: that is how those come back that did not answer. Which boot it is is
 * not known from here on.
 */
export function nodeRestarted(pool: PoolState, id: string, now: number): void {
  changePoolNode(pool, id, (node) => {
    const { 'boot-id': _boot, ...payload } = node.machine.payload;
    return { ...node, machine: { ...node.machine, payload } };
  });
  nodeHealthy(pool, id, now);
}

/** After a hold the node is treated as a used one. */
export function endHold(pool: PoolState, id: string, now: number): boolean {
  const node = pool.nodes[id];
  if (node?.state !== 'hold') return false;
  if (node.backing !== undefined) {
    dropNode(pool, id, now);
    return true;
  }
  setNodeState(pool, id, 'used', now);
  const used = pool.nodes[id];
  if (used !== undefined) afterUse(pool, used, now);
  return true;
}

function slicesOf(pool: PoolState, backing: string): readonly string[] {
  return Object.values(pool.nodes)
    .filter((node) => node.backing === backing)
    .map(({ id }) => id);
}
