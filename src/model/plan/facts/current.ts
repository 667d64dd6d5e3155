import type { Outlines } from '../order/dependencies.js';
import type { MayRemove, NodeFacts, ServiceFacts } from '../../node/state.js';
import { nodeId } from '../../names.js';
import { indexesOf, rangesOf, type Range } from '../ranges.js';
import type { Counts } from '../../cluster/scaled.js';
import type { TaskVariables } from '../../cluster/variables.js';

/** The actions that an operation may do once more although nothing changed. */
export type Repeatable = keyof NonNullable<ServiceFacts['doneIn']>;

/** Facts of a service for the planner. Their owner interprets versions and operation ids. */
export type PlannedServiceFacts = Omit<ServiceFacts, 'peers' | 'doneIn'> & {
  /** Nodes that it reads changed since its CONFIGURE. */
  readonly peersStale?: true;
  /** What the operation under way did already. */
  readonly redone?: readonly Repeatable[];
};

export type PlannedFacts = Omit<NodeFacts, 'services' | 'EXEC' | 'mayRemove'> & {
  /** The operation under way ran its command here. */
  readonly executed?: true;
  /** It failed, and the operation under way (`now`) or one before it went on without it. */
  readonly excluded?: 'now' | 'before';
  /** Its machine was in an earlier run of the cluster, and may hold data. */
  readonly adopted?: true;
  /** What the operation under way named for removal. */
  readonly mayRemove?: Omit<MayRemove, 'operation'>;
  readonly services: Readonly<Record<string, PlannedServiceFacts>>;
};

/** The nodes of a cluster as planning sees them: those with equal facts together. */
export interface NodeSummary {
  readonly group: string;
  readonly nodes: readonly Range[];
  readonly facts: PlannedFacts;
}

export interface CurrentCluster {
  readonly nodes: readonly NodeSummary[];
  /** Services that stand on some node. */
  readonly services: Outlines;
  /** Services that a user stopped; what needs them at run time stays down with them. */
  readonly stopped?: readonly string[];
  /** The accepted spec has `lock: true`. */
  readonly locked?: true;
  /** Names of outputs that other clusters use, by the names of those. */
  readonly readers?: Readonly<Record<string, readonly string[]>>;
  /** Counts that users set instead of those in the file, and those that a rollback restores. */
  readonly scaled?: Counts;
  readonly scaledBefore?: Counts;
  /** The values that variables had of other clusters. */
  readonly imports?: TaskVariables;
}

export const emptyCluster: CurrentCluster = { nodes: [], services: {} };

/** The cluster with some nodes marked as to be replaced. */
export function markForReplacement(current: CurrentCluster, nodeIds: readonly string[]): CurrentCluster {
  const nodes = current.nodes.flatMap((row) => {
    const isMeant = (index: number): boolean => nodeIds.includes(nodeId(row.group, index));
    const indexes = indexesOf(row.nodes);
    const [meant, others] = [indexes.filter(isMeant), indexes.filter((index) => !isMeant(index))];
    const parts = [
      { ...row, nodes: rangesOf(others) },
      { ...row, nodes: rangesOf(meant), facts: { ...row.facts, toReplace: true as const } },
    ];
    return parts.filter((part) => part.nodes.length > 0);
  });
  return { ...current, nodes };
}

/** Nodes with equal facts, reported by the workflow that has them, without cluster-wide knowledge. */
export interface NodeRow {
  readonly group: string;
  readonly nodes: readonly Range[];
  readonly facts: RowFacts;
  /** Key of the operation that `redone` and `executed` speak of. */
  readonly operation: string;
}

export type RowFacts = Omit<PlannedFacts, 'services'> & {
  readonly services: Readonly<Record<string, RowServiceFacts>>;
};
export type RowServiceFacts = Omit<PlannedServiceFacts, 'peersStale'> & Pick<ServiceFacts, 'peers'>;
