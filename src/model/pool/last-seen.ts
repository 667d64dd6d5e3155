import { milliseconds } from '../milliseconds.js';
import type { PoolNode } from './node.js';
import type { NodeRequest } from './request.js';
import type { PoolState } from './state.js';

/** Default `probeAfter`, in seconds. */
const defaultProbeAfter = 60;

/** The node whose machine it is on: itself, unless several nodes share a machine. */
export function machineNode({ nodes }: PoolState, node: PoolNode): PoolNode {
  return node.backing === undefined ? node : (nodes[node.backing] ?? node);
}

/** Whether it answered so recently that it is allocated without a probe. */
export function isSeen(pool: PoolState, node: PoolNode, now: number): boolean {
  const { seenAt, createdAt, providerPool } = machineNode(pool, node);
  const { probeAfter = defaultProbeAfter } = pool.spec?.providerPools[providerPool] ?? {};
  return now - (seenAt ?? createdAt) < milliseconds(probeAfter);
}

/** Whether a request that has all of its nodes may get this one: it was seen since then, or recently. */
export function wasProbedFor(
  pool: PoolState,
  { nodes, since }: NodeRequest,
  node: PoolNode,
  now: number,
): boolean {
  if (isSeen(pool, node, now)) return true;
  const completeAt = nodes.reduce((latest, id) => Math.max(latest, pool.nodes[id]?.since ?? 0), since);
  return (machineNode(pool, node).seenAt ?? 0) >= completeAt;
}
