import { resumeNode, setNodeState } from './allocate.js';
import { isOutdated } from './capacity-ledger.js';
import { isSeen, machineNode, wasProbedFor } from './last-seen.js';
import { isIdle, type PoolNode } from './node.js';
import { nodeUnhealthy, noteFailure, nodeHealthy, requestsOf } from './outcome.js';
import { changePoolNode, changeRequest, type PoolState } from './state.js';

/** Free nodes that are probed beside one that a request needs, in case that one does not answer. */
const substitutes = 2;
/**
 * Pause before the second probe, and before it is tried again if it could not be made, in ms.
 * An SSH server that restarts, or a network that is gone for a moment, costs no ready nodes.
 */
const secondAfterMs = 10_000;

/** Machines to probe: for requests that have all of their nodes, and those that did not answer once. */
export interface DueProbes {
  readonly first: readonly PoolNode[];
  readonly second: readonly PoolNode[];
}

export function dueProbes(pool: PoolState, isProbed: (id: string) => boolean, now: number): DueProbes {
  const second = Object.values(pool.nodes).filter(
    ({ id, silent, againAt = 0 }) => silent === true && againAt <= now && !isProbed(id),
  );
  const needed = new Map<string, PoolNode>();
  for (const request of Object.values(pool.requests)) {
    if (request.state !== 'pending' || !request.nodes.every((id) => pool.nodes[id]?.state === 'ready'))
      continue;
    for (const id of request.nodes) {
      const node = pool.nodes[id];
      if (node === undefined || wasProbedFor(pool, request, node, now)) continue;
      const machine = machineNode(pool, node);
      if (!isProbed(machine.id)) needed.set(machine.id, machine);
    }
  }
  if (needed.size === 0) return { first: [], second };
  return { first: [...needed.values(), ...substitutesFor(pool, needed, isProbed, now)], second };
}

function substitutesFor(
  pool: PoolState,
  needed: ReadonlyMap<string, PoolNode>,
  isProbed: (id: string) => boolean,
  now: number,
): readonly PoolNode[] {
  const left = new Map<string, number>();
  for (const { providerPool, label } of needed.values()) left.set(`${providerPool}/${label}`, substitutes);
  return Object.values(pool.nodes).filter((node) => {
    const key = `${node.providerPool}/${node.label}`;
    const count = left.get(key) ?? 0;
    if (count === 0 || !isIdle(node) || node.state !== 'ready' || node.backing !== undefined) return false;
    if (isProbed(node.id) || isSeen(pool, node, now) || isOutdated(pool, node)) return false;
    left.set(key, count - 1);
    return true;
  });
}

/**
 * It did not answer the first probe: its requests get other nodes, and it is probed once more, after a pause.
 */
export function nodeSilent(pool: PoolState, id: string, why: string, now: number): void {
  const node = pool.nodes[id];
  if (node?.state !== 'ready') return;
  for (const request of requestsOf(pool, node)) {
    changeRequest(pool, request, (before) => ({ ...before, lastFailure: `${node.providerPool}: ${why}` }));
    resumeNode(pool, request, now);
  }
  setNodeState(pool, id, 'failed', now, why);
  changePoolNode(pool, id, (before) => ({ ...before, silent: true, againAt: now + secondAfterMs }));
}

/** Handles a node with drift: deletes it, or keeps it as failed if the provider pool has `keepUnwell`. */
export function nodeUnfit(pool: PoolState, id: string, why: string, now: number): void {
  const node = pool.nodes[id];
  if (node === undefined || (node.state !== 'ready' && node.silent !== true)) return;
  noteFailure(pool, node, why, now);
  for (const request of requestsOf(pool, node)) resumeNode(pool, request, now);
  nodeUnhealthy(pool, id, why, now);
}

/** Handles a probe without a result: allocates a ready node, and probes a silent one again later. */
export function nodeUnknown(pool: PoolState, id: string, now: number): void {
  const { state, silent } = pool.nodes[id] ?? {};
  if (state === 'ready') nodeHealthy(pool, id, now);
  if (silent === true) changePoolNode(pool, id, (node) => ({ ...node, againAt: now + secondAfterMs }));
}
