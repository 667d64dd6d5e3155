import { readMachineKey } from '../names.js';
import { usedIncarnation } from './record.js';
import type { NodeState } from './state.js';
import type { Operation } from '../cluster/operation.js';
import type { NodesState } from '../cluster/work.js';

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
 * incarnations of a node only increase.
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
export function ownershipAmong(owner: OwnNodes, machine: NamedMachine): Ownership {
  const { uid } = owner;
  const named = readMachineKey(machine.key);
  const node = nodeNamed(owner.nodes, named?.nodeId ?? '');
  if (!isMachineOf(node, uid, machine.key)) {
    const used = node === undefined ? owner.incarnation : usedIncarnation(node);
    return { is: named?.clusterUid === uid && named.incarnation > used ? 'unmade' : 'free' };
  }
  const { providerid } = node.payload;
  return { is: 'mine', ...(typeof providerid === 'string' ? { providerid } : {}) };
}

/** The name comes from a provider: it may be that of a member of every object. */
function nodeNamed(nodes: OwnNodes['nodes'], name: string): NodeState | undefined {
  return Object.hasOwn(nodes, name) ? nodes[name] : undefined;
}

/** Nodes of one workflow. `incarnation`: the highest one of nodes that it no longer has. */
export interface OwnNodes extends Pick<NodesState, 'nodes' | 'incarnation'> {
  /** In the keys of the machines that it makes. */
  readonly uid: string;
}

/** Operations keep the machines that were given up: `<nodeId> <provider> <providerid> (by ...)`. */
export function wasAbandoned(operations: readonly Operation[], { key, providerid }: NamedMachine): boolean {
  const nodeId = readMachineKey(key)?.nodeId ?? '';
  return operations.some(({ abandoned = [] }) =>
    abandoned.some((line) => line.startsWith(`${nodeId} `) && line.includes(` ${providerid} (by `)),
  );
}

/** A node never comes to incarnations this far above those that it used. */
const reach = 1_000_000;

/** The nodes after the sweep was told to delete these machines: none of their keys is used again. */
export function withoutKeysOf(
  machines: readonly NamedMachine[],
  { nodes, uid, incarnation }: OwnNodes,
): Pick<NodesState, 'nodes' | 'incarnation'> {
  const disowned = { ...nodes };
  let highest = incarnation;
  for (const { key } of machines) {
    const named = readMachineKey(key);
    if (named?.clusterUid !== uid) continue;
    const node = nodeNamed(disowned, named.nodeId);
    if (node === undefined) {
      if (named.incarnation < highest + reach) highest = Math.max(highest, named.incarnation);
    } else if (named.incarnation > usedIncarnation(node) && named.incarnation < usedIncarnation(node) + reach)
      disowned[named.nodeId] = { ...node, incarnationFloor: named.incarnation };
  }
  return { nodes: disowned, incarnation: highest };
}
