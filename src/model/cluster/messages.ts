import type { JsonObject } from '../json.js';
import type { HealthCheck } from '../node/health.js';
import type { Intent } from '../plan/intent.js';
import type { PluginPins } from '../plan/plan.js';
import type { CurrentCluster } from '../plan/plan-operation.js';
import type { Peer } from '../node/task.js';

/** Input of a cluster workflow that a Heddle client starts. A raw spec is taken too. */
export interface ClusterStart {
  readonly heddle: { readonly uid: string };
}

export interface ApplyRequest {
  /** A spec, closed or raw; the cluster checks it again when it plans. */
  readonly spec: unknown;
  readonly by: string;
  /** Refuse when the cluster is there already with another spec. */
  readonly createOnly?: boolean;
  /** At most so many nodes of a service are disturbed at once. */
  readonly width?: number;
  /** Wait for the operations before it instead of being refused. */
  readonly queue?: boolean;
}

/** Any operation but apply and delete. */
export interface OperateRequest {
  readonly intent: Exclude<Intent, { readonly kind: 'apply' | 'delete' }>;
  readonly by: string;
  readonly queue?: boolean;
}

/** Delete, retry, pause, resume: all they say is who asks. */
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

export interface PeersRequest {
  /** The version the caller has; 0 for none. */
  readonly since: number;
  /** Continue after this node id (paging). */
  readonly after?: string;
}

/** What changed among the peers since a version. */
export interface PeersPage {
  readonly version: number;
  readonly changed: Readonly<Record<string, Peer>>;
  readonly gone: readonly string[];
  /**
   * Versions of the lists of the groups that carry further nodes, by group; they are asked for themselves.
   */
  readonly groups?: Readonly<Record<string, number>>;
  /** Present when there is more: ask again after this node id. */
  readonly next?: string;
}

/** What the cluster workflow hands to a task's activity. */
export interface TaskRequest {
  readonly taskId: string;
  readonly clusterId: string;
  readonly clusterUid: string;
  readonly nodeId: string;
  readonly incarnation: number;
  readonly run: number;
  readonly operation: string;
  readonly config: JsonObject;
  readonly cluster: JsonObject;
  /** The task must see the peers at least as new as this version. */
  readonly peersVersion: number;
  /** The workflow that knows the peers. */
  readonly peersOf: string;
  readonly provider: { readonly name: string; readonly type: string; readonly fields: JsonObject };
  /** The uid in the machine's key, where an earlier life of the cluster made the machine. */
  readonly keyUid?: string;
  /** For CREATE: the machine of this key is there already; take it over, make none. */
  readonly adopt?: true;
  /** For DELETE: the sweep asks for it, and nobody must have the machine at that moment. */
  readonly swept?: true;
  /** Digest of the placement of the node's machine. */
  readonly placement?: string;
  /** For BOOTSTRAP: the automators that the node's services use. */
  readonly automators?: readonly string[];
  readonly service?: {
    readonly name: string;
    readonly action: { readonly type: string; readonly fields: JsonObject };
    readonly timeoutMs?: number;
  };
  /** The plugins that may carry it out, as they were when the operation was planned. */
  readonly plugins?: PluginPins;
  /** For START: what it waits for when its action is done. */
  readonly check?: HealthCheck;
  /** For EXEC. */
  readonly command?: { readonly text: string; readonly sudo?: true; readonly timeoutMs?: number };
}

/** What a task's activity returns. */
export interface TaskOutcome {
  readonly result?: JsonObject;
  /** Tails of the output, for people; the whole is in the log. */
  readonly stdout?: string;
  readonly stderr?: string;
  readonly log?: string;
}

/** Input of the PLAN activity, and of the workflow that only previews. */
export interface PlanRequest {
  readonly clusterName: string;
  readonly intent: Intent;
  /** Closed or raw; absent for delete, and for rollback of a cluster that was never there. */
  readonly spec?: unknown;
  readonly current: CurrentCluster;
}
