import { readMachineKey } from '../names.js';
import type { NodeState } from './state.js';
import type { Operation } from '../cluster/operation.js';

/** A machine as its provider shows it: whose is it? */
export interface NamedMachine {
  readonly key: string;
  readonly providerid: string;
}

/**
 * What a workflow that carries nodes says of a machine.
 * - `mine`: a node's machine, or the one that it is getting; `providerid` as the node knows it.
 * - `free`: no node of it has the machine, nor ever will again.
 * - `abandoned`: free, for a person gave it up undeleted.
 * - `unsure`: it cannot tell yet.
 * - `elsewhere`: another workflow carries the node, and is to be asked.
 */
export type Ownership =
  | { readonly is: 'mine'; readonly providerid?: string }
  | { readonly is: 'free' }
  | { readonly is: 'abandoned' }
  | { readonly is: 'unsure' }
  /** `abandoned`: where that one does not have it either, a person gave it up. */
  | { readonly is: 'elsewhere'; readonly workflowId: string; readonly abandoned?: true };

/**
 * A machine is a node's by its key: the node notes its incarnation before its CREATE is sent, and only ever
 * goes on to later ones.
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
export function ownershipAmong(
  nodes: Readonly<Record<string, NodeState>>,
  uid: string,
  { key }: NamedMachine,
): Ownership {
  const node = nodes[readMachineKey(key)?.nodeId ?? ''];
  if (!isMachineOf(node, uid, key)) return { is: 'free' };
  const { providerid } = node.payload;
  return { is: 'mine', ...(typeof providerid === 'string' ? { providerid } : {}) };
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
