import { usedIncarnation } from '../node/record.js';
import type { NodeState } from '../node/state.js';
import type { Kind } from '../plan/plan.js';
import { indexesOf } from '../plan/ranges.js';
import type { Placement, PlannedPlacement, PluginPins } from '../node/placement.js';
import { packKinds, unpackKinds, type PackedKinds } from '../plan/packed.js';
import type { RemovalPolicy } from '../plan/plan.js';
import { nodeId } from '../names.js';
import { newValueTable } from '../shared-values.js';

/** What a workflow that carries nodes keeps of them. Plain JSON, carried from run to run. */
export interface NodesState {
  readonly nodes: Readonly<Record<string, NodeState>>;
  /** The highest incarnation of nodes that it no longer has: nodes of their names begin above it. */
  readonly incarnation: number;
  /** Present while an operation is under way. */
  readonly work?: Work;
}

/** The highest incarnation of its nodes, and of those that it no longer has. */
export function highestIncarnation({ nodes, incarnation }: NodesState): number {
  return Math.max(incarnation, ...Object.values(nodes).map(usedIncarnation));
}

/** What one operation has to do with the nodes of one workflow, and how far it has come. */
export interface Work extends RemovalPolicy {
  /** Only nodes of this workflow. */
  readonly kinds: readonly Kind[];
  /** Where each group's new machines come from. */
  readonly placements: Readonly<Record<string, readonly PlannedPlacement[]>>;
  /** Plugins as they were when this was planned; tasks of others are refused. */
  readonly plugins?: PluginPins;
  /** When it is all done, the operation is planned once more: there is a second part. */
  readonly again?: true;
  /** Tasks that the operation had done when this was planned. */
  readonly doneBefore: number;
  /**
   * How many operations the group had begun with this one. After a reset of its cluster, a group may begin an
   * operation again after later ones: what that repeats must run, because the nodes have changed since.
   */
  readonly begun?: number;
  /** Uid of the last retry of the operation. */
  readonly retry?: string;
  /** Steps of its chain that each node has behind it; absent: none. */
  readonly positions: Readonly<Record<string, number>>;
}

/** As messages and the next run get it. */
export type PackedWork = Omit<Work, 'kinds'> & { readonly kinds: PackedKinds };

export function packWork({ kinds, ...work }: Work): PackedWork {
  return { ...work, kinds: packKinds(kinds) };
}

export function unpackWork({ kinds, ...work }: PackedWork): Work {
  return { ...work, kinds: unpackKinds(kinds) };
}

type Nodes = NodesState['nodes'];

/** As the next run receives them: placements that many machines share are stored once. */
export interface PackedNodes {
  readonly nodes: Readonly<
    Record<
      string,
      Omit<NodeState, 'placement'> & {
        /** Index of `placements`. */
        readonly placement?: number;
      }
    >
  >;
  readonly placements: readonly Placement[];
}

export function packNodes(nodes: Nodes): PackedNodes {
  const { values, indexOf } = newValueTable<Placement>();
  const packed = mapNodes(nodes, ({ placement, ...node }) =>
    placement === undefined ? node : { ...node, placement: indexOf(placement) },
  );
  return { nodes: packed, placements: values };
}

export function unpackNodes({ nodes, placements }: PackedNodes): Nodes {
  return mapNodes(nodes, ({ placement, ...node }): NodeState => {
    const known = placement === undefined ? undefined : placements[placement];
    return known === undefined ? node : { ...node, placement: known };
  });
}

/** Without what only people read, and the next check finds again. */
export function withoutHealth(nodes: Nodes): Nodes {
  return mapNodes(nodes, ({ health: _health, ...node }) => node);
}

function mapNodes<From, To>(
  nodes: Readonly<Record<string, From>>,
  change: (node: From) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(nodes).map(([id, node]) => [id, change(node)]));
}

/** Gates and batch slots of the operation under way, over all nodes of the cluster. */
export interface Coordination {
  /** How many tasks must end before a gate opens. */
  readonly needed: Readonly<Record<string, number>>;
  readonly passed: Readonly<Record<string, number>>;
  /** How many nodes of one batch may be worked on at once. */
  readonly width: number;
  /** The same by batch, where it differs. */
  readonly widths?: Readonly<Record<string, number>>;
  readonly batchSlots: Readonly<Record<string, BatchSlot>>;
  /** Nodes that wait for a batch slot, in order. */
  readonly asked: readonly { readonly batchSlot: string; readonly nodeId: string }[];
}

interface BatchSlot {
  /** Ids of the nodes that are in it. */
  readonly holders: readonly string[];
  /** A node failed in it: no other node enters. */
  readonly shut?: true;
}

export interface Chain {
  readonly nodeId: string;
  readonly kind: Kind;
}

/** The chain of every node of a work. */
export function chainsOf(work: Pick<Work, 'kinds'>): readonly Chain[] {
  return work.kinds.flatMap((kind) =>
    indexesOf(kind.nodes).map((index): Chain => ({ nodeId: nodeId(kind.group, index), kind })),
  );
}

export function isOpen(coordination: Coordination, gate: string): boolean {
  return (coordination.passed[gate] ?? 0) >= (coordination.needed[gate] ?? 0);
}

export function countGate(coordination: Coordination, gate: string, by = 1): Coordination {
  return {
    ...coordination,
    passed: { ...coordination.passed, [gate]: (coordination.passed[gate] ?? 0) + by },
  };
}

/** Gives the node a free batch slot; returns the same coordination if there is none. */
export function takeBatchSlot(coordination: Coordination, batchSlot: string, node: string): Coordination {
  const { holders, shut } = coordination.batchSlots[batchSlot] ?? { holders: [] };
  const width = coordination.widths?.[batchSlot] ?? coordination.width;
  if (holders.includes(node) || shut === true || holders.length >= width) return coordination;
  return {
    ...coordination,
    batchSlots: { ...coordination.batchSlots, [batchSlot]: { holders: [...holders, node] } },
  };
}

export function releaseBatchSlot(coordination: Coordination, batchSlot: string, node: string): Coordination {
  const before = coordination.batchSlots[batchSlot] ?? { holders: [] };
  return {
    ...coordination,
    batchSlots: {
      ...coordination.batchSlots,
      [batchSlot]: { ...before, holders: before.holders.filter((holder) => holder !== node) },
    },
  };
}

export function closeBatchSlot(coordination: Coordination, batchSlot: string): Coordination {
  return {
    ...coordination,
    batchSlots: {
      ...coordination.batchSlots,
      [batchSlot]: { holders: coordination.batchSlots[batchSlot]?.holders ?? [], shut: true },
    },
  };
}

export function holdsBatchSlot(coordination: Coordination, batchSlot: string, node: string): boolean {
  return coordination.batchSlots[batchSlot]?.holders.includes(node) === true;
}
