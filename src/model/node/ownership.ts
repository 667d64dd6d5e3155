import { readMachineKey } from '../names.js';
import type { NodeState } from './state.js';
import type { Operation } from '../cluster/operation.js';

/** A machine as its provider shows it: whose is it? */
export interface NamedMachine {
  readonly key: string;
  readonly providerid: string;
}

/**
 * A workflow's answer about the ownership of a machine.
 * - `mine`: a node has the machine, or is getting it; `providerid` as the node knows it.
 * - `free`: no node has the machine or ever will.
 * - `abandoned`: free, because a person abandoned it undeleted.
 * - `unmade`: the workflow has never made a machine of this key. It did so after the backup that its database
 *   was restored from, or after the point that it was reset to.
 * - `unsure`: unknown yet.
 * - `elsewhere`: another workflow has the node, and must be asked.
 */
export type Ownership =
  | { readonly is: 'mine'; readonly providerid?: string }
  | { readonly is: 'free' }
  | { readonly is: 'abandoned' }
  | { readonly is: 'unmade' }
  | { readonly is: 'unsure' }
  /** `abandoned`: where that one does not have it either, a person gave it up. */
  | { readonly is: 'elsewhere'; readonly workflowId: string; readonly abandoned?: true };

/**
 * A machine belongs to a node by its key: the node records its incarnation before it sends CREATE, and
 * incarnations only increase.
 */
export function isMachineOf(node: NodeState | undefined, uid: string, key: string): node is NodeState {
  const named = readMachineKey(key);
  if (node === undefined || named === undefined) return false;
  return (
    node.nodeId === named.nodeId &&
    node.incarnation === named.incarnation &&
    (node.keyUid ?? uid) === named.clusterUid
  );
}

/** Who has which node's machine, among the nodes that one workflow carries. */
export function ownershipAmong({ nodes, uid, highest }: OwnNodes, machine: NamedMachine): Ownership {
  const node = nodes[readMachineKey(machine.key)?.nodeId ?? ''];
  if (!isMachineOf(node, uid, machine.key))
    return { is: highestIncarnation([machine], uid) > highest ? 'unmade' : 'free' };
  const { providerid } = node.payload;
  return { is: 'mine', ...(typeof providerid === 'string' ? { providerid } : {}) };
}

interface OwnNodes {
  readonly nodes: Readonly<Record<string, NodeState>>;
  readonly uid: string;
  /** The highest incarnation that the workflow has assigned. */
  readonly highest: number;
}

/** Operations keep the machines that were given up: `<nodeId> <provider> <providerid> (by ...)`. */
export function wasAbandoned(operations: readonly Operation[], { key, providerid }: NamedMachine): boolean {
  const nodeId = readMachineKey(key)?.nodeId ?? '';
  return operations.some(({ abandoned = [] }) =>
    abandoned.some((line) => line.startsWith(`${nodeId} `) && line.includes(` ${providerid} (by `)),
  );
}

/**
 * The highest incarnation among machines of this uid: a counter that is raised to it never makes one of these
 * keys again.
 */
export function highestIncarnation(machines: readonly NamedMachine[], uid: string): number {
  return machines.reduce((highest, { key }) => {
    const named = readMachineKey(key);
    return named?.clusterUid === uid ? Math.max(highest, named.incarnation) : highest;
  }, 0);
}
