import type { ServiceActionKey } from '../action.js';
import type { HealthCheck } from '../node/health.js';
import type { JsonObject } from '../json.js';

/**
 * What a cluster should be: checked, defaults filled in, files inlined, short forms written out. This is what
 * the planner and the workflows read; how people write it is in `schema/spec.ts`.
 */
export interface ClusterSpec {
  readonly name: string;
  /** The cluster's configuration: free, and handed to every task as `cluster`. */
  readonly config: JsonObject;
  /** By the group's id, which is the first part of its nodes' ids. */
  readonly groups: Readonly<Record<string, GroupSpec>>;
  readonly services: Readonly<Record<string, ServiceSpec>>;
  readonly onFailure: FailurePolicy;
  readonly repair: RepairSpec;
}

/** What an apply does about machines that are not as they should be. */
export interface RepairSpec {
  /** The provider has no such machine. */
  readonly gone: 'replace' | 'nothing';
  /** It is switched off. */
  readonly stopped: 'replace' | 'nothing';
  /** It runs, as the provider says, and does not answer. */
  readonly unreachable: 'replace' | 'nothing';
  /** It came up again: what ran there is started. */
  readonly rebooted: 'start' | 'nothing';
  /** It has another address: it is confirmed there, and its peers are told. */
  readonly moved: 'confirm' | 'nothing';
  /** How often a cluster at rest is looked at, in ms; absent: only when something is asked of it. */
  readonly everyMs?: number;
}

export const defaultRepair: RepairSpec = {
  gone: 'replace',
  stopped: 'nothing',
  unreachable: 'nothing',
  rebooted: 'start',
  moved: 'confirm',
};

/**
 * What happens when a task has failed for good: `hold` keeps all and waits for a person, `continue` leaves
 * without the failed node, `rollback` goes back to the spec that was applied before.
 */
export const failurePolicies = ['hold', 'continue', 'rollback'] as const;
export type FailurePolicy = (typeof failurePolicies)[number];

/** Nodes that are alike. */
export interface GroupSpec {
  readonly count: number;
  /** With how many nodes the group counts as there; all of them unless given. */
  readonly minimum?: number;
  /** Name of a provider account in the worker's configuration. */
  readonly provider: string;
  /** Our word for the machine's size; the provider account maps it to a flavor. */
  readonly hardware: string;
  /** Our word for the machine image; the provider account maps it to its own. */
  readonly image: string;
  readonly services: readonly string[];
  /** The user's fields for the provider; secrets are references. */
  readonly fields: JsonObject;
  /** Longest wait until a new machine answers, in ms. */
  readonly confirmWithinMs?: number;
  /** Where to get machines when the first choice has none, in order; what is left out is as in the group. */
  readonly alternatives?: readonly PlacementChoice[];
}

export interface PlacementChoice {
  readonly provider: string;
  readonly hardware?: string;
  readonly image?: string;
  readonly fields?: JsonObject;
}

export interface ServiceSpec {
  /** Other names that its dependants may use for it. */
  readonly provides: readonly string[];
  /** Services (or what they provide) that must not stand on the same node. */
  readonly conflicts: readonly string[];
  /** Gates INSTALL. */
  readonly install: Needs;
  /** Gates INITIALIZE and START, and in reverse STOP and REMOVE. */
  readonly runtime: Needs;
  /** Which nodes' addresses its actions read. */
  readonly peers: PeersNeeded;
  /** What is done when those nodes or their addresses change. */
  readonly onPeersChange: PeersChange;
  readonly actions: Readonly<Partial<Record<ServiceActionKey, ServiceActionSpec>>>;
  /** What START waits for, and status shows. */
  readonly check?: HealthCheck;
}

export const peersNeeded = ['all', 'dependencies', 'none'] as const;
export type PeersNeeded = (typeof peersNeeded)[number];

export const peersChanges = ['configure', 'restart', 'nothing'] as const;
export type PeersChange = (typeof peersChanges)[number];

/** Services by name or by what they provide. */
export interface Needs {
  /** Must stand on some node of the cluster, and come first. */
  readonly requires: readonly string[];
  /** Come first where they are in the cluster. */
  readonly uses: readonly string[];
}

export interface ServiceActionSpec {
  /** Name of the automator that carries it out. */
  readonly type: string;
  /** The automator's fields; secrets are references. */
  readonly fields: JsonObject;
  /** How many runs a failing script gets; 1 unless given. */
  readonly attempts?: number;
  /**
   * Wait before the second run, in ms; doubles with each further one, up to 10 minutes. No wait unless given.
   */
  readonly backoffMs?: number;
  /** Longest time one run may take, in ms. */
  readonly timeoutMs?: number;
  /** Exit codes after which another run is no use. */
  readonly permanentExitCodes?: readonly number[];
}
