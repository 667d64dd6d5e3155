import { milliseconds } from '../milliseconds.js';
import { failOver, nextFailOver } from './fail-over.js';
import { isOutdated, openLedger } from './capacity-ledger.js';
import { deleteNode, isWaiting, returnNodes, setNodeState } from './allocate.js';
import { countSpare } from './keep-ready.js';
import { versionStatusOf } from './library.js';
import { isSpare, type PoolNode } from './node.js';
import { labelsWithOld } from './replace-old.js';
import type { PoolState } from './state.js';

/** How long a failed request is shown. */
const failedShownMs = 60 * 60_000;
/** Interval of checks of failed nodes that are kept, where the file gives none. */
const keptCheckMs = 60_000;
/** How long an account's quota is believed while it leaves room. */
const quotaAgeMs = 5 * 60_000;
/** While something waits for it: a quarter of the wait so far, within these. */
const awaitedAgeMs = { least: 10_000, most: 60_000 } as const;

/** Carries out what is due by the clock: expired leases, old nodes, ended holds and pauses. */
export function carryOutDue(pool: PoolState, now: number): void {
  for (const request of Object.values(pool.requests)) {
    if (request.state === 'fulfilled' && (request.expiresAt ?? Infinity) <= now)
      returnNodes(pool, request.id, 'expired', now);
    if (isWaiting(request) && (request.heldUntil ?? Infinity) <= now)
      returnNodes(pool, request.id, 'expired', now);
    if (request.state === 'failed' && request.since + failedShownMs <= now)
      returnNodes(pool, request.id, 'cancelled', now);
  }
  for (const [account, { until }] of Object.entries(pool.paused))
    if (until <= now) delete pool.paused[account];
  for (const [account, { readAt }] of Object.entries(pool.quotas))
    if (readAt + 2 * quotaAgeMs <= now) delete pool.quotas[account];
  for (const node of Object.values(pool.nodes)) {
    const end = endOf(pool, node);
    if (end !== undefined && end.at <= now) deleteNode(pool, node.id, end.why, now);
  }
  failOver(pool, now);
  deleteSpare(pool, now);
  for (const name of Object.keys(pool.spec?.providerPools ?? {})) {
    if (hasToCheck(pool, name)) pool.checkedAt[name] ??= now;
    else delete pool.checkedAt[name];
  }
}

interface End {
  readonly at: number;
  readonly why: string;
}

/** When a node is deleted regardless of requests, and why. */
function endOf(pool: PoolState, node: PoolNode): End | undefined {
  const label = pool.spec?.labels[node.label];
  if (node.state === 'hold')
    return node.hold?.until === undefined ? undefined : { at: node.hold.until, why: 'its hold has ended' };
  if (node.slots !== undefined) return endOfBacking(pool, node);
  if (node.state !== 'ready' || node.request !== undefined || node.backing !== undefined) return undefined;
  if (isOutdated(pool, node)) return { at: 0, why: whyOutdated(pool, node) };
  return label?.maxReadyAge === undefined
    ? undefined
    : { at: node.since + milliseconds(label.maxReadyAge), why: 'was ready for too long' };
}

/** A machine for several nodes goes when it is empty and nothing speaks for keeping it. */
function endOfBacking(pool: PoolState, node: PoolNode): End | undefined {
  if (node.state === 'deleting' || node.state === 'building' || node.silent === true) return undefined;
  if (Object.values(pool.nodes).some(({ backing }) => backing === node.id)) return undefined;
  const provider = pool.spec?.providerPools[node.providerPool];
  if (node.state === 'failed')
    return provider?.keepUnwell === true ? undefined : { at: 0, why: node.why ?? 'does not answer' };
  if (isOutdated(pool, node)) return { at: 0, why: whyOutdated(pool, node) };
  const { maxAge } = provider?.labels[node.label] ?? {};
  return maxAge === undefined ? undefined : { at: node.createdAt + milliseconds(maxAge), why: 'is too old' };
}

function whyOutdated(pool: PoolState, node: PoolNode): string {
  return versionStatusOf(pool, node) === 'withdrawn'
    ? 'its image was rolled back'
    : 'the configuration of its label changed';
}

/** Ready nodes beyond `minReady` are deleted after `spareAge` without a request. */
function deleteSpare(pool: PoolState, now: number): void {
  for (const node of surplus(pool, now))
    if (goesAt(pool, node) <= now) setNodeState(pool, node.id, 'deleting', now, 'it was not requested');
}

/** Ready nodes beyond `minReady`, the oldest first. */
function surplus(pool: PoolState, now: number): readonly PoolNode[] {
  const replacing = labelsWithOld(pool);
  // Where nodes give way to newer ones, that decides which of them go.
  const spare = Object.values(pool.nodes)
    .filter((node) => isSpare(node) && !replacing.has(node.label))
    .toSorted((one, other) => one.since - other.since);
  if (spare.length === 0) return spare;
  const ledger = openLedger(pool, now);
  const left: Record<string, number> = {};
  return spare.filter(({ label, slots = 1 }) => {
    const count = (left[label] ??= countSpare(pool, ledger, label));
    const goes = count - slots >= (pool.spec?.labels[label]?.minReady ?? 0);
    if (goes) left[label] = count - slots;
    return goes;
  });
}

/** Machines of several nodes that have some are not spare. */
function goesAt(pool: PoolState, node: PoolNode): number {
  const { spareAge = 0 } = pool.spec?.labels[node.label] ?? {};
  if (node.slots === undefined) return node.since + milliseconds(spareAge);
  if (Object.values(pool.nodes).some(({ backing }) => backing === node.id)) return Infinity;
  const { minRetention = spareAge } = pool.spec?.providerPools[node.providerPool]?.labels[node.label] ?? {};
  return node.since + milliseconds(minRetention);
}

/** The next due time, in ms since the epoch; undefined if there is none. */
export function nextDue(pool: PoolState, now: number): number | undefined {
  const times: number[] = [];
  for (const request of Object.values(pool.requests)) {
    const { state, since, expiresAt, heldUntil } = request;
    if (isWaiting(request) && heldUntil !== undefined) times.push(heldUntil);
    if (state === 'fulfilled' && expiresAt !== undefined) times.push(expiresAt);
    if (state === 'failed') times.push(since + failedShownMs);
  }
  for (const { until } of Object.values(pool.paused)) times.push(until);
  for (const { until } of Object.values(pool.resting)) if (until > now) times.push(until);
  for (const node of Object.values(pool.nodes)) {
    const end = endOf(pool, node);
    if (end !== undefined) times.push(end.at);
    // What is due already has begun, or begins when other work has ended.
    if (node.againAt !== undefined && node.againAt > now) times.push(node.againAt);
  }
  const slowAt = nextFailOver(pool, now);
  if (slowAt !== undefined) times.push(slowAt);
  for (const node of surplus(pool, now)) times.push(goesAt(pool, node));
  for (const name of Object.keys(pool.spec?.providerPools ?? {})) {
    if (hasToCheck(pool, name)) times.push((pool.checkedAt[name] ?? now) + checkIntervalMs(pool, name));
  }
  // Nothing announces that an account has room again.
  for (const account of Object.keys(pool.awaitsQuota)) times.push(quotaDueAt(pool, account));
  const soonest = times.reduce((least, time) => Math.min(least, time), Infinity);
  return soonest === Infinity ? undefined : Math.max(soonest, now);
}

/** When to read the quota of an account next, while the pool creates or needs machines. */
export function quotaDueAt({ quotasAskedAt, awaitsQuota }: PoolState, account: string): number {
  const askedAt = quotasAskedAt[account];
  if (askedAt === undefined) return 0;
  const since = awaitsQuota[account];
  if (since === undefined) return askedAt + quotaAgeMs;
  return askedAt + Math.min(awaitedAgeMs.most, Math.max(awaitedAgeMs.least, (askedAt - since) / 4));
}

/** Whether nodes of the provider pool are checked periodically. */
function hasToCheck(pool: PoolState, providerPool: string): boolean {
  if (checkIntervalMs(pool, providerPool) === Infinity) return false;
  return Object.values(pool.nodes).some((node) => isChecked(pool, providerPool, node));
}

/** Infinity for never. A kept machine that failed before its allocation is probed until it answers. */
export function checkIntervalMs({ spec }: PoolState, providerPool: string): number {
  const { checkEvery, keepUnwell } = spec?.providerPools[providerPool] ?? {};
  if (checkEvery !== undefined) return milliseconds(checkEvery);
  return keepUnwell === true ? keptCheckMs : Infinity;
}

/** Nodes that are checked periodically: failed ones, and free ready ones if the file gives an interval. */
export function checkedNodes(pool: PoolState, providerPool: string): readonly PoolNode[] {
  return Object.values(pool.nodes).filter((node) => isChecked(pool, providerPool, node));
}

function isChecked(
  { spec }: PoolState,
  name: string,
  { providerPool, state, request, backing }: PoolNode,
): boolean {
  if (providerPool !== name || backing !== undefined) return false;
  if (state !== 'ready') return state === 'failed';
  return request === undefined && spec?.providerPools[name]?.checkEvery !== undefined;
}
