import type { Json } from '../json.js';
import type { Losable } from '../cluster/consent.js';
import type { ClusterSpec } from '../cluster/spec.js';
import type { PlannedPlacement } from '../node/placement.js';
import type { CurrentCluster } from './facts/current.js';
import type { ServiceDigests } from './facts/digest.js';
import type { Intent } from './intent/intent.js';
import type { Outlines } from './order/dependencies.js';
import type { Order } from './order/order.js';

/*
 * `PlanningInput` is what the planner is given. Functions that take it run before the order of actions is
 * known; `makeContext` derives the rest once, and everything that drafts steps takes the `PlanContext`.
 */

export interface PlanningInput {
  readonly intent: Intent;
  /** What the cluster should be, or is; absent for delete alone. */
  readonly spec?: ClusterSpec;
  readonly current: CurrentCluster;
  /** By group, in the order they are to be tried. */
  readonly placements: Readonly<Record<string, readonly PlannedPlacement[]>>;
  /** Digest of the automators that prepare a node with these services. */
  readonly bootstrapDigest: (services: readonly string[]) => string;
  readonly digest: (value: Json) => string;
  /**
   * The operation was planned before: nodes and services that it names may be gone since, and it removes only
   * what that plan named.
   */
  readonly again?: true;
  /** Nodes whose machines may be lost, by group; absent: any. */
  readonly losable?: Losable;
  /** Present while a limited apply is planned; the planner sets it. */
  readonly scope?: Scope;
}

/** What an apply is limited to by `nodes` and `services` of its intent. */
export interface Scope {
  /** Ids of nodes; absent: all. */
  readonly nodes?: ReadonlySet<string>;
  /** Absent: all. */
  readonly services?: ReadonlySet<string>;
  /** What the services in the scope require, near or far: it is in the scope where it is not up yet. */
  readonly required: ReadonlySet<string>;
  readonly outlines: Outlines;
}

/**
 * The input of the planner and what follows from it for the whole cluster: computed once for all node plans.
 */
export interface PlanContext extends PlanningInput {
  readonly outlines: Outlines;
  readonly digests: Readonly<Record<string, ServiceDigests>>;
  readonly up: Order;
  readonly down: Order;
  readonly membership: Membership;
  /** Everything goes. */
  readonly deleting: boolean;
  /** Services that stay down: those that a user stopped, and what needs them at run time. */
  readonly held: ReadonlySet<string>;
  /** Present in a rolling plan. */
  readonly rolling?: Rolling;
  readonly following: Following;
  /** The services that route traffic to each service, and must be configured without nodes that go down. */
  readonly drains: Readonly<Record<string, readonly string[]>>;
  /** All of those: their CONFIGURE may be done more than once. */
  readonly routers: ReadonlySet<string>;
  /** Ids of nodes whose replacement is left to a later plan of the same operation. */
  readonly postponed: ReadonlySet<string>;
}

/** Services that stop and start with one that they need, and the reason. */
export type Following = ReadonlyMap<string, string>;

/** Services of nodes that join, leave, move or are replaced in this plan. */
export interface Membership {
  readonly services: ReadonlySet<string>;
  readonly any: boolean;
}

/** How an operation goes through the nodes of each service. */
export interface Rolling {
  /** The smallest number of nodes disturbed at once: how many machines are replaced by one plan. */
  readonly width: number;
  /** By service: nodes disturbed at once. A service without does not roll. */
  readonly widths: Readonly<Record<string, number>>;
  /** By service: wait after a batch, in ms. */
  readonly settleMs: Readonly<Record<string, number>>;
}
