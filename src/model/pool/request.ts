import type { JsonObject } from '../json.js';

/**
 * - `requested`: waits until all of its nodes are available at once.
 * - `pending`: has its nodes; some are being created.
 * - `fulfilled`: they are ready, and the requester's until the lease ends.
 * - `failed`: no provider pool can supply them.
 */
export const requestStates = ['requested', 'pending', 'fulfilled', 'failed'] as const;
export type RequestState = (typeof requestStates)[number];

/** A request for nodes, as a client sends it. */
export interface NodeDemand {
  /** Made by the requester; the same id again is the same request. */
  readonly id: string;
  /** A node for each, in this order; a label may be there several times. */
  readonly labels: readonly string[];
  /** Requests with a lower number come first. Default: 100. */
  readonly priority?: number;
  readonly requester: string;
  /** Free; kept and shown. */
  readonly attributes?: JsonObject;
  readonly tenant?: string;
  /** The provider pool that comes first where it can serve the request. */
  readonly providerPool?: string;
  /** Duration of the lease, from the allocation of the nodes or the last renewal. */
  readonly leaseMs?: number;
  /** While it waits, the request ends unless it is renewed this often; in ms. Absent: it waits for ever. */
  readonly heldMs?: number;
  /**
   * The cluster machine that the node becomes; the request's id is its key. Such a request has no lease: the
   * cluster returns the node, or the sweep does if the cluster no longer exists.
   */
  readonly tags?: Readonly<Record<string, string>>;
}

export const defaultPriority = 100;
export const defaultLeaseMs = 60 * 60_000;

/** A request as the pool keeps it. Times are ms since the epoch. */
export interface NodeRequest {
  readonly id: string;
  /** Counts up: earlier ones come first. */
  readonly seq: number;
  readonly labels: readonly string[];
  readonly priority: number;
  readonly requester: string;
  readonly attributes: JsonObject;
  readonly tenant?: string;
  readonly prefers?: string;
  readonly leaseMs: number;
  readonly heldMs?: number;
  /** While it waits: when it ends unless it is renewed. */
  readonly heldUntil?: number;
  readonly tags?: NodeDemand['tags'];
  readonly state: RequestState;
  readonly createdAt: number;
  readonly since: number;
  readonly providerPool?: string;
  /** Ids in the order of the labels; empty while it is requested. */
  readonly nodes: readonly string[];
  /** Provider pools that cannot serve it, and why. */
  readonly declined: Readonly<Record<string, string>>;
  /** Machines that failed for it in its provider pool. */
  readonly failures: number;
  /** The last failure of a machine for it, with its provider pool, until it has its nodes. */
  readonly lastFailure?: string;
  /** Why it waits. */
  readonly waits?: string;
  /** The provider pool in which capacity is freed for it. */
  readonly target?: string;
  /** When the nodes are reclaimed; absent without a lease. */
  readonly expiresAt?: number;
  /** Of the pool's changes the last that touched it. */
  readonly version: number;
}

/** A request that is over. */
export interface EndedRequest {
  readonly id: string;
  readonly requester: string;
  readonly labels: readonly string[];
  readonly how: 'returned' | 'cancelled' | 'expired';
  readonly at: number;
  readonly version: number;
}
