import type { PoolSpec } from '../../schema/pool/spec.js';
import type { PlannedPlacement } from '../node/placement.js';

export type { PoolSpec };
/** A kind of node that can be requested. */
export type LabelSpec = PoolSpec['labels'][string];
/** A share of a provider account that nodes come from. */
export type ProviderPoolSpec = PoolSpec['providerPools'][string];
/** How one provider pool creates nodes of one label. */
export type OfferSpec = ProviderPoolSpec['labels'][string];

/** Where the machines of each provider pool and label come from, resolved by a worker. */
export type Placements = Readonly<Record<string, Readonly<Record<string, OfferPlacement>>>>;

/** The version of a library image is chosen when the machine is created. */
export interface OfferPlacement extends PlannedPlacement {
  readonly libraryImage?: string;
}

/** What a pool has to know of a type of provider. */
export interface ProviderTraits {
  /** How long one deletion of a machine whose id is known holds its permit, in ms. */
  readonly deleteWithinMs: number;
  /** The server records who has which of its machines, which therefore cannot move to another server. */
  readonly claims: boolean;
  /** The provider cannot be asked what came of a CREATE: one that timed out may have made a machine. */
  readonly hasUnknownOutcomes?: true;
}

/** A checked pool, as the activity PLAN_POOL gives it. */
export interface PlannedPool {
  readonly spec: PoolSpec;
  readonly placements: Placements;
  /** Provider pools whose provider is notified when a node is reused. */
  readonly notifiedOfReuse?: readonly string[];
  /** Provider accounts whose tasks may be batched. */
  readonly batchedAccounts?: readonly string[];
  /** By type. */
  readonly providerTypes: Readonly<Record<string, ProviderTraits>>;
}
