import { deleteNode, resumeNode } from './allocate.js';
import { offerKey, openLedger, take, type CapacityLedger } from './capacity-ledger.js';
import { costOf, fitIn, isAvoided, refusalOf } from './fit.js';
import { lacksImage } from './library.js';
import type { PoolNode } from './node.js';
import { noteFailure, requestsOf, backOffOffer } from './outcome.js';
import { mayReplaceOne, openForReplacing, replaceOne } from './replace-one.js';
import type { NodeRequest } from './request.js';
import type { ProviderPoolSpec } from './spec.js';
import type { PoolState } from './state.js';

/** How long a provider may take for a machine before a provider pool that could be quicker is tried. */
const patienceMs = 45_000;
/** A provider pool that was too slow comes after the others for at least this long. */
const leastRestMs = 60_000;

type Demand = Pick<NodeRequest, 'labels' | 'tenant' | 'declined'>;

/**
 * Moves requests and spare nodes away from providers that do not answer or are much slower than another one
 * could be. A machine that was not accepted is deleted; one that boots goes on as a spare node, which shows
 * how long its provider takes.
 */
export function failOver(pool: PoolState, now: number): void {
  if (!hasSeveral(pool)) return;
  let ledgers: Ledgers | undefined;
  const slow: PoolNode[] = [];
  for (const { id } of Object.values(pool.nodes)) {
    const node = pool.nodes[id];
    if (node === undefined || slowAt(pool, node) > now) continue;
    ledgers ??= openLedgers(pool, now);
    const movesAlone = mayReplaceOne(pool, node);
    const moves = movesAlone
      ? replaceOne(pool, node, { leaves: true, now, ledger: ledgers.replacing })
      : reserve(pool, ledgers.whole, node, now);
    if (!moves) continue;
    const isAccepted = node.acceptedAt !== undefined;
    const why = isAccepted ? 'took too long to boot' : 'was not accepted by its provider in time';
    noteFailure(pool, node, `${id} ${why}`, now);
    // From here on the label is avoided there: what the ledgers show as idle there is not taken.
    backOffOffer(pool, node, now, leastRestMs);
    slow.push(node);
    if (!isAccepted) deleteNode(pool, id, why, now);
    else if (!movesAlone) for (const request of requestsOf(pool, node)) resumeNode(pool, request, now);
  }
  // Only now: nodes of one time move together.
  for (const node of slow) noteSlowness(pool, node, now);
}

/** One ledger for all nodes of a step, as whole requests and as single nodes see it. */
interface Ledgers {
  readonly whole: CapacityLedger;
  readonly replacing: CapacityLedger;
}

function openLedgers(pool: PoolState, now: number): Ledgers {
  const whole = openLedger(pool, now);
  return { whole, replacing: openForReplacing(pool, whole) };
}

/**
 * A provider takes at least so long: the next time it gets twice as much, so that no request moves for ever.
 */
function noteSlowness(
  pool: PoolState,
  { providerPool, label, askedAt = 0, acceptedAt }: PoolNode,
  now: number,
): void {
  const key = offerKey(providerPool, label);
  const { acceptedMs = 0, readyMs = 0 } = pool.launchTimes?.[key] ?? {};
  const tookMs = now - askedAt;
  const known = {
    acceptedMs: acceptedAt === undefined ? Math.max(acceptedMs, tookMs) : acceptedMs,
    readyMs: Math.max(readyMs, tookMs),
  };
  pool.launchTimes = { ...pool.launchTimes, [key]: known };
}

/** The next time at which a node counts as slow; undefined if there is none. */
export function nextFailOver(pool: PoolState, now: number): number | undefined {
  if (!hasSeveral(pool)) return undefined;
  const times = Object.values(pool.nodes)
    .map((node) => slowAt(pool, node))
    .filter((at) => at > now && at < Infinity);
  return times.length === 0 ? undefined : times.reduce((one, other) => Math.min(one, other));
}

function hasSeveral({ spec }: PoolState): boolean {
  return Object.keys(spec?.providerPools ?? {}).length > 1;
}

/**
 * When another provider pool is tried for the node. A provider gets twice its usual time. One that boots the
 * machine is compared with the usual time of the others.
 */
function slowAt(pool: PoolState, node: PoolNode): number {
  const { state, askedAt, acceptedAt, backing, providerPool, label } = node;
  if (state !== 'building' || askedAt === undefined || backing !== undefined) return Infinity;
  const times = pool.launchTimes ?? {};
  const own = times[offerKey(providerPool, label)];
  if (acceptedAt === undefined) return askedAt + Math.max(patienceMs, 2 * (own?.acceptedMs ?? 0));
  if (requestsOf(pool, node).length === 0) return Infinity;
  const best = others(pool, node).reduce(
    (least, name) => Math.min(least, times[offerKey(name, label)]?.readyMs ?? Infinity),
    Infinity,
  );
  return askedAt + Math.max(patienceMs, 2 * (own?.readyMs ?? 0), 2 * best);
}

/** Other provider pools that serve the label. */
function others({ spec }: PoolState, { providerPool, label }: PoolNode): readonly string[] {
  return Object.entries(spec?.providerPools ?? {}).flatMap(([name, { labels }]) =>
    name === providerPool || labels[label] === undefined ? [] : [name],
  );
}

function demandOf(pool: PoolState, node: PoolNode): Demand {
  const [request = ''] = requestsOf(pool, node);
  return pool.requests[request] ?? { labels: [node.label], declined: {} };
}

/**
 * Takes the capacity of another provider pool that could serve the demand at once; false if there is none.
 */
function reserve(pool: PoolState, ledger: CapacityLedger, node: PoolNode, now: number): boolean {
  const demand = demandOf(pool, node);
  for (const name of others(pool, node)) {
    const provider = pool.spec?.providerPools[name];
    if (provider === undefined || !isFree(pool, ledger, demand, { name, provider, now })) continue;
    take(pool, ledger, name, costOf(pool, ledger, name, demand.labels));
    return true;
  }
  return false;
}

interface Place {
  readonly name: string;
  readonly provider: ProviderPoolSpec;
  readonly now: number;
}

/** The limits of the tenant hold already. */
function isFree(
  pool: PoolState,
  ledger: CapacityLedger,
  demand: Demand,
  { name, provider, now }: Place,
): boolean {
  if (demand.declined[name] !== undefined) return false;
  if (refusalOf(pool, demand, name, provider) !== undefined || isAvoided(pool, demand.labels, name, now))
    return false;
  if (demand.labels.some((label) => lacksImage(pool, name, label) !== undefined)) return false;
  return fitIn(pool, ledger, { labels: demand.labels }, name, provider).is === 'fits';
}
