import type { JsonObject } from '../json.js';
import type { ProbedNode } from '../node/probe.js';
import type { Amounts } from './amounts.js';
import type { Placements, PoolSpec, ProviderTraits } from './spec.js';

/** Input of a pool's workflow that a client starts. */
export interface PoolStart {
  readonly heddle: { readonly uid: string };
}

export interface ConfigureRequest {
  /** A closed pool; it is checked again when it is planned. */
  readonly spec: unknown;
  readonly by: string;
}

export interface ConfigureReply {
  /** It was configured so already. */
  readonly unchanged: boolean;
  readonly poolUid: string;
}

/** What PLAN_POOL gives: the pool, and where the machines of each provider pool and label come from. */
export interface PoolPlan {
  readonly spec: PoolSpec;
  readonly placements: Placements;
  /** Provider pools whose provider is notified when a node is reused; absent: none. */
  readonly notifiedOfReuse?: readonly string[];
  /** Provider accounts whose tasks may be batched: several nodes in one activity; absent: none. */
  readonly batchedAccounts?: readonly string[];
  /** By type, of the accounts that are named. */
  readonly providerTypes: Readonly<Record<string, ProviderTraits>>;
}

export interface EndRequest {
  readonly ids: readonly string[];
  readonly how: 'returned' | 'cancelled';
}

export interface PriorityRequest {
  readonly id: string;
  /** Low comes first. */
  readonly priority: number;
}

export interface HoldRequest {
  readonly nodeId: string;
  readonly by: string;
  readonly comment: string;
  /** Ms; absent: until it is ended, or the label's limit. */
  readonly forMs?: number;
}

export interface DeleteNodesRequest {
  readonly nodeIds: readonly string[];
  readonly by: string;
  /** Forget them without deleting their machines: for machines that cannot be deleted. */
  readonly abandon?: true;
  /** Leave those that are in use or held by then. */
  readonly withoutUser?: true;
}

export interface DeletePoolRequest {
  readonly by: string;
}

/** Requests to report: by id, or changed after a version. */
export type RequestsWanted = { readonly ids: readonly string[] } | { readonly since: number };

/** Input of READ_QUOTA. */
export interface QuotaRequest {
  /** Flavors whose sizes are wanted. */
  readonly flavors?: readonly string[];
  readonly provider: { readonly name: string; readonly type: string };
}

/** Input of NODE_REUSED. */
export interface NodeReusedRequest {
  readonly clusterId: string;
  readonly provider: { readonly name: string; readonly type: string; readonly fields: JsonObject };
  readonly node: ProbedNode;
}

/** The quota of an account, and its total use. */
export interface QuotaReply {
  /** Absent if the provider does not report it. */
  readonly quota?: {
    readonly limits: Amounts;
    readonly used: Amounts;
    /** What one machine of each wanted flavor takes. */
    readonly sizes?: Readonly<Record<string, Amounts>>;
  };
}

export interface PlanPoolRequest {
  readonly poolName: string;
  /** A pool file with its references resolved. */
  readonly spec: unknown;
}
