import type { Intent } from '../plan/intent/intent.js';
import type { PackedCurrent, PackedPlan } from '../plan/packed.js';
import type { PlanRejection } from '../plan/plan-error.js';
import type { Consent } from './consent.js';
import type { Webhook } from '../event.js';
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
  /**
   * The operation was planned before: what it names was known then, and it removes only what that plan named.
   */
  readonly again?: true;
  /** Of the first plan. */
  readonly consent?: Consent;
  /** In a preview: ask the sites, too, for what only their workers know. */
  readonly checks?: true;
  /** In a preview: of the cluster, if it exists. */
  readonly clusterUid?: string;
}

/** Input of the PLAN activity, and of the workflow that only previews. */
export type PackedPlanRequest = Omit<PlanRequest, 'current'> & { readonly current: PackedCurrent };

interface Planned {
  readonly plan: PackedPlan;
  readonly rejected?: undefined;
}

interface NotPlanned {
  readonly rejected: PlanRejection;
}

/** `webhooks`: those of the worker that planned; absent if there are none. */
export type PlanReply = (Planned | NotPlanned) & { readonly webhooks?: readonly Webhook[] };
