import type { Drift } from '../node/drift.js';
import type { TaskVariables } from '../cluster/variables.js';
import type { PlannedPlacement, PluginPins } from '../node/placement.js';
import type { Action } from '../action.js';
import type { ScaledCount } from '../cluster/scaled.js';
import type { ClusterSpec } from '../cluster/spec.js';
import type { Limits, ServerFeatures } from '../cluster/limits.js';
import { countOf, type Range } from './ranges.js';

/**
 * What one operation has to do: kinds of nodes with the chain each carries out, and the gates between them.
 * Its size follows the number of kinds, not of nodes.
 */
export interface Plan {
  readonly kinds: readonly Kind[];
  /** How many tasks must end before a gate opens, by gate id. */
  readonly gates: Readonly<Record<string, number>>;
  /** Where each group's new machines come from. */
  readonly placements: Readonly<Record<string, readonly PlannedPlacement[]>>;
  /** How many nodes of one batch may be worked on at once; absent: no limit. */
  readonly width?: number;
  /** The same by batch, for services with `rolling` in the cluster file. */
  readonly widths?: Readonly<Record<string, number>>;
  /** For people: what the plan leaves alone although they may expect otherwise, and why. */
  readonly notes?: readonly string[];
  /** The normalised spec of the plan; absent if the operation leaves it unchanged, and for delete. */
  readonly spec?: ClusterSpec;
  /**
   * For people: work that is not in `kinds` yet. After all `kinds` are done, the operation is planned once
   * more.
   */
  readonly later?: readonly Kind[];
  /** For people: tasks of routers around the batches of `later`, which have them when they are planned. */
  readonly repeated?: number;
  /** Counts by `scale` that differ from the file, by group. */
  readonly scaled?: Readonly<Record<string, ScaledCount>>;
  /** Of a limited apply only: how many tasks the rest of the spec needs. */
  readonly left?: number;
}

/** A plan, and what the worker that planned knows. */
export interface ServedPlan extends Plan {
  /** Of what it does, so that an operation can be limited to a plan that a user saw. */
  readonly digest: string;
  /** What the server offers, as the worker that planned found it. */
  readonly features: ServerFeatures;
  /** How much one workflow carries, by the configuration of that worker. */
  readonly limits: Limits;
  /**
   * The plugins that the spec uses, as the planning worker has them; absent without a spec, as for delete.
   */
  readonly plugins?: PluginPins;
  /** Values of variables that are outputs of other clusters; absent if there are none. */
  readonly imports?: TaskVariables;
  /** Names of the providers that take machines back instead of deleting them; absent if there are none. */
  readonly releasing?: readonly string[];
}

export const purposes = ['create', 'update', 'replace', 'remove', 'exec'] as const;
export type Purpose = (typeof purposes)[number];

export interface Kind {
  readonly group: string;
  readonly purpose: Purpose;
  readonly nodes: readonly Range[];
  readonly chain: readonly Step[];
  /** Services its nodes have when the plan is done. */
  readonly services: readonly string[];
  /** In a limited apply: they are not all services of the group, or more. */
  readonly ownServices?: true;
}

export interface Step {
  readonly action: Action;
  readonly service?: string;
  /** Gates that must be open before it starts. */
  readonly after?: readonly string[];
  /** The gate that its end counts for; absent if nothing waits for it. */
  readonly counts?: string;
  /**
   * From a node's first step with a batch slot to its last in a row it holds one of `width` slots of that
   * batch. It takes the place when its gates are open, and keeps it when it fails.
   */
  readonly batchSlot?: string;
  /** Recorded in the node's facts when it is done. */
  readonly digest?: string;
  /** Why it is repeated on a node, for people. */
  readonly reason?: string;
  /** Tear-down: a failure is recorded and the chain continues. */
  readonly mayFail?: true;
  /** RELOAD follows, and is due until it is done. */
  readonly reload?: true;
  /**
   * CONFIGURE and RELOAD of a service that routes traffic: ids of drained nodes, which the task does not see.
   */
  readonly without?: readonly string[];
  /** It may run several times in an operation, each time as a separate run. */
  readonly repeats?: true;
  /** Timeout, in ms. Default: that of its action. */
  readonly withinMs?: number;
  /** Wait after it, in ms, before it counts as done. */
  readonly settleMs?: number;
}

/** A plan without any task changes nothing. */
export function isEmptyPlan(plan: Plan): boolean {
  return plan.kinds.every((kind) => kind.chain.length === 0);
}

export function taskCount(plan: Plan): number {
  return plan.kinds.reduce((sum, kind) => sum + countOf(kind.nodes) * kind.chain.length, 0);
}

/** What some nodes of a group lose in a plan. */
export interface Removal {
  readonly group: string;
  readonly nodes: readonly Range[];
  /** The machine with its disk, and with it all services. */
  readonly machine?: true;
  readonly services: readonly string[];
}

/** What a workflow must know of an operation to judge a removal. */
export interface RemovalPolicy {
  /** Key of the operation. */
  readonly operation: string;
  /** The cluster's file forbids the loss of machines. */
  readonly locked?: true;
  /** Drifts after which the repair policy replaces a machine. */
  readonly replaces?: readonly Drift[];
  /** Heddle started the operation: no user named what its plan lists. */
  readonly automatic?: true;
}
