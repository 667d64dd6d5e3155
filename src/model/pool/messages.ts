import type { JsonObject } from '../json.js';
import type { ProbedNode } from '../node/probe.js';
import type { Amounts } from './amounts.js';
import type { Placements, PoolSpec, ProviderTraits } from './spec.js';

/** Input of a pool's workflow that a client starts. */
export interface PoolStart {
  readonly heddle: { readonly uid: string };
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
