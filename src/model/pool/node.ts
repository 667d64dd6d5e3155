import type { NodeState } from '../node/state.js';
import type { Amounts } from './amounts.js';

/**
 * - `building`: its machine is being created.
 * - `ready`: it waits for a request.
 * - `in-use`: a request has it.
 * - `used`: it was returned and is being cleaned up.
 * - `hold`: kept for inspection.
 * - `failed`: it does not answer; machines that cannot be replaced stay here until they do.
 * - `deleting`: its machine is being deleted; then the node is gone.
 */
export const poolNodeStates = ['building', 'ready', 'in-use', 'used', 'hold', 'failed', 'deleting'] as const;
export type PoolNodeState = (typeof poolNodeStates)[number];

/** What may follow what. Nothing else changes a node's state. */
export const nodeTransitions: Readonly<Record<PoolNodeState, readonly PoolNodeState[]>> = {
  building: ['ready', 'failed', 'deleting'],
  ready: ['in-use', 'hold', 'failed', 'deleting'],
  'in-use': ['used', 'hold', 'deleting'],
  used: ['ready', 'hold', 'deleting'],
  hold: ['used', 'deleting'],
  failed: ['ready', 'deleting'],
  deleting: [],
};

/** One node of a pool. Times are ms since the epoch. */
export interface PoolNode {
  readonly id: string;
  readonly label: string;
  readonly providerPool: string;
  readonly state: PoolNodeState;
  /** When it got into its state. */
  readonly since: number;
  readonly createdAt: number;
  /** The request that has it, or that it is created for. */
  readonly request?: string;
  /** Whose use it counts as. */
  readonly tenant?: string;
  /** Which machine this is for its place in the request, counted from 1. */
  readonly attempt: number;
  /** What its machine takes of the limits. A node that shares a machine takes nothing. */
  readonly uses: Amounts;
  /**
   * What its machine is: the same node that run-node carries. Of a node that shares a machine it holds no
   * machine.
   */
  readonly machine: NodeState;
  /** For a shared machine, which is never allocated itself: its number of nodes. */
  readonly slots?: number;
  /** The node whose machine it shares. */
  readonly backing?: string;
  readonly hold?: { readonly by: string; readonly comment: string; readonly until?: number };
  /** Why it failed, or cannot be deleted yet; or why it is being deleted. */
  readonly why?: string;
  /** It is ready again after use, and its provider was not notified yet. */
  readonly reused?: true;
  /** Number of allocations. */
  readonly handedOut: number;
  /** When the machine was first requested from its provider, and when the provider accepted. */
  readonly askedAt?: number;
  readonly acceptedAt?: number;
  /** When it answered last, or nothing was found out about that. */
  readonly seenAt?: number;
  /** It is failed since it did not answer a probe, and is probed once more before it is given up. */
  readonly silent?: true;
  /** When a task of it that failed is tried again. */
  readonly againAt?: number;
}

export function mayBecome(node: Pick<PoolNode, 'state'>, state: PoolNodeState): boolean {
  return nodeTransitions[node.state].includes(state);
}

/** It is free and can be allocated. */
export function isIdle(node: PoolNode): boolean {
  return (
    node.request === undefined &&
    node.slots === undefined &&
    (node.state === 'ready' || node.state === 'building')
  );
}

/** Whether someone has it: it is in use, or held for inspection. */
export function isTaken({ state }: Pick<PoolNode, 'state'>): boolean {
  return state === 'in-use' || state === 'hold';
}

/**
 * Of all nodes of a pool those that can be deleted without taking one from its user, also on
 * the same machine.
 */
export function nodesWithoutUser<Node extends Pick<PoolNode, 'id' | 'state' | 'backing'>>(
  nodes: readonly Node[],
): readonly Node[] {
  const machines = new Set(nodes.filter(isTaken).flatMap(({ backing }) => backing ?? []));
  return nodes.filter((node) => !isTaken(node) && !machines.has(node.id));
}

/** A whole machine that is ready and free. */
export function isSpare(node: PoolNode): boolean {
  return node.state === 'ready' && node.request === undefined && node.backing === undefined;
}
