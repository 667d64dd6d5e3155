import type { JsonObject } from '../json.js';
import type { PlannedPlacement } from '../node/placement.js';
import type { Amounts } from './amounts.js';

/** What a pool should be: checked, defaults filled in. How people write it is in `schema/pool`. */
export interface PoolSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, LabelSpec>>;
  /** Shares of provider accounts that nodes come from, by name. */
  readonly providerPools: Readonly<Record<string, ProviderPoolSpec>>;
  /** What requests of one tenant may have at a time, over all provider pools. */
  readonly tenants: Readonly<Record<string, Amounts>>;
}

/** A kind of node that can be asked for. */
export interface LabelSpec {
  /** Nodes that are kept ready for the next requests. */
  readonly minReady: number;
  /** A ready node that is older is replaced. */
  readonly maxReadyAgeMs?: number;
  /** Ready nodes beyond `minReady` are deleted when they were not requested for so long. */
  readonly spareAgeMs: number;
  /** A held node is deleted after this, whatever the hold says. */
  readonly maxHoldAgeMs?: number;
  /** What becomes of a node that was used. */
  readonly onReturn: 'delete' | 'reuse';
  /** Run on a used node before it is ready again; when it fails the node is deleted. */
  readonly cleanUp?: { readonly script: string; readonly sudo?: true; readonly timeoutMs?: number };
}

export interface ProviderPoolSpec {
  /** Name of a provider account in the worker's configuration. */
  readonly provider: string;
  /** Low comes first. */
  readonly priority: number;
  readonly limits: Amounts;
  /** The account's own quota is not asked for. */
  readonly ignoreQuota?: true;
  /** Passed to the requester with a node. */
  readonly attributes: JsonObject;
  /** How many machines are tried for one node of a request. */
  readonly launchAttempts: number;
  /** How often ready nodes are looked at; absent: never. */
  readonly checkEveryMs?: number;
  /**
   * Nodes that do not answer any more wait until they do, instead of being deleted: machines that exist and
   * cannot be made.
   */
  readonly keepUnwell?: true;
  /** The labels it serves. */
  readonly labels: Readonly<Record<string, OfferSpec>>;
}

/** How one provider pool makes the nodes of one label. */
export interface OfferSpec {
  readonly hardware: string;
  readonly image: string;
  /** An image of the library, whose newest version that the account has takes the place of `image`. */
  readonly libraryImage?: string;
  readonly fields: JsonObject;
  /** What one machine takes of the limits, `nodes: 1` included. */
  readonly uses: Amounts;
  /** Longest time until the provider has taken the order. */
  readonly launchWithinMs?: number;
  /** Longest time from then until the machine answers. */
  readonly confirmWithinMs?: number;
  /** One machine stands behind so many nodes. */
  readonly slots?: number;
  /** A machine of several nodes stays at least so long after the last of them. */
  readonly minRetentionMs?: number;
  /** A machine that is older gets no new nodes, and goes when the last of them has. */
  readonly maxAgeMs?: number;
}

/** Where the machines of each provider pool and label come from, resolved by a worker. */
export type Placements = Readonly<Record<string, Readonly<Record<string, OfferPlacement>>>>;

/** The version of a library image is chosen when the machine is created. */
export interface OfferPlacement extends PlannedPlacement {
  readonly libraryImage?: string;
}

/** A checked pool, as the activity PLAN_POOL gives it. */
export interface PlannedPool {
  readonly spec: PoolSpec;
  readonly placements: Placements;
  /** Provider pools whose provider is notified when a node is reused. */
  readonly notifiedOfReuse?: readonly string[];
  /** Provider accounts whose tasks may be batched. */
  readonly batchedAccounts?: readonly string[];
}
