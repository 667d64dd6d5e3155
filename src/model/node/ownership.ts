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

/** The keys that a node, or a machine registered by itself, has and had. */
interface KeyHolder extends Pick<NodeState, 'incarnation' | 'incarnationFloor' | 'keyUid' | 'payload'> {
  /** The incarnation that it is being moved to. */
  readonly moving?: number;
}

/**
 * A machine belongs to a node by its key: the node records its incarnation before it sends CREATE, and
 * incarnations of a node only increase. A machine that is moved has two keys for the time.
 */
export function ownershipOf(
  { nodes, uid, incarnation }: KeyHolders,
  { key }: NamedMachine,
): Exclude<Ownership, { readonly is: 'elsewhere' }> {
  const named = readMachineKey(key);
  const node = nodeNamed(nodes, named?.nodeId ?? '');
  const own = named?.clusterUid === (node?.keyUid ?? uid) ? named?.incarnation : undefined;
  if (node !== undefined && own !== undefined && [node.incarnation, node.moving].includes(own)) {
    const { providerid } = own === node.incarnation ? node.payload : {};
    return { is: 'mine', ...(typeof providerid === 'string' ? { providerid } : {}) };
  }
  const used = node === undefined ? incarnation : usedIncarnation(node);
  return { is: named?.clusterUid === uid && named.incarnation > used ? 'unmade' : 'free' };
}

/** The name comes from a provider: it may be that of a member of every object. */
function nodeNamed<Node>(nodes: Readonly<Record<string, Node>>, name: string): Node | undefined {
  return Object.hasOwn(nodes, name) ? nodes[name] : undefined;
}

/** Those of one workflow. */
export interface KeyHolders<Holder = KeyHolder> {
  readonly nodes: Readonly<Record<string, Holder>>;
  /** In the keys of the machines that it makes. */
  readonly uid: string;
  /** The highest one of nodes that it no longer has. */
  readonly incarnation: number;
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

/** The nodes after the sweep was allowed to delete these machines: none of their keys is used again. */
export function withoutKeysOf(
  machines: readonly NamedMachine[],
  { nodes, uid, incarnation }: KeyHolders<NodeState>,
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
