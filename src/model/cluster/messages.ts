import type { Json } from '../json.js';
import type { Intent } from '../plan/intent.js';
import type { PackedCurrent } from '../plan/packed.js';
import type { CurrentCluster } from '../plan/plan-operation.js';

/** Input of a cluster workflow that a Heddle client starts. A raw spec is taken too. */
export interface ClusterStart {
  readonly heddle: {
    readonly uid: string;
    /** No cluster of this name has run within the server's retention. */
    readonly isFirst?: true;
  };
}

export interface ApplyRequest {
  /** A spec, closed or raw; the cluster checks it again when it plans. */
  readonly spec: unknown;
  readonly by: string;
  /** Refuse when the cluster is there already with another spec. */
  readonly createOnly?: boolean;
  /** At most so many nodes of a service are disturbed at once. */
  readonly width?: number;
  /** Only these nodes, by their ids. */
  readonly nodes?: readonly string[];
  /** Only these services. */
  readonly services?: readonly string[];
  /** Wait for the operations before it instead of being refused. */
  readonly queue?: boolean;
}

/** Any operation but apply and delete. */
export interface OperateRequest {
  readonly intent: Exclude<Intent, { readonly kind: 'apply' | 'delete' }>;
  readonly by: string;
  readonly queue?: boolean;
}

export interface ReadOutputsRequest {
  /** The cluster that uses the outputs. */
  readonly cluster: string;
  /** The values that it has, by the names of the outputs; without any, it uses none any more. */
  readonly values: Readonly<Record<string, Json>>;
}

/** Delete, retry, pause, resume: they carry only the requester. */
export interface PlainRequest {
  readonly by: string;
}

export interface CancelRequest {
  readonly by: string;
  /** Id of one that runs, is held or waits; absent: the one under way. */
  readonly operation?: string;
}

export interface AbandonRequest {
  readonly by: string;
  readonly nodeId: string;
}

export interface ApplyReply {
  readonly operation: string;
  readonly clusterUid: string;
  /** The cluster has this spec already, or is on its way there: nothing was queued. */
  readonly unchanged?: true;
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
