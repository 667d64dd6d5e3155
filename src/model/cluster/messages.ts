import type { Intent } from '../plan/intent/intent.js';
import type { PackedCurrent } from '../plan/packed.js';
import type { CurrentCluster } from '../plan/facts/current.js';

/** Input of a cluster workflow that a Heddle client starts. A raw spec is taken too. */
export interface ClusterStart {
  readonly heddle: {
    readonly uid: string;
    /** No cluster of this name has run within the server's retention. */
    readonly isFirst?: true;
  };
}

/** The operation to plan, and its input. */
export interface PlanRequest {
  readonly clusterName: string;
  readonly intent: Intent;
  /** Closed or raw; absent for delete alone. */
  readonly spec?: unknown;
  readonly current: CurrentCluster;
  /** The operation was planned before: what it names was known then, and it removes only what that plan named. */
  readonly again?: true;
  /** In a preview: ask the sites, too, for what only their workers know. */
  readonly checks?: true;
}

/** Input of the PLAN activity, and of the workflow that only previews. */
export type PackedPlanRequest = Omit<PlanRequest, 'current'> & { readonly current: PackedCurrent };
