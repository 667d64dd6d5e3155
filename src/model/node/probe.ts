import type { JsonObject } from '../json.js';
import type { HealthCheck } from './health.js';
import type { Drift } from './drift.js';

/** Requests and replies of the activities that probe machines. Plain JSON. */

/** A provider account, as tasks name it; the fields are the user's. */
export interface AccountRef {
  readonly name: string;
  readonly type: string;
  readonly fields: JsonObject;
}

/** One machine to probe. */
export interface ProbedNode {
  readonly nodeId: string;
  readonly incarnation: number;
  /** The uid in its machine's key. */
  readonly keyUid: string;
  /** Digest of the placement for which it is created. */
  readonly placement?: string;
  /** The node's payload: `providerid`, `ipaddress`, `ssh-*`, `boot-id`. */
  readonly config: JsonObject;
  /** Checks of the services that run there, by their names. */
  readonly checks?: Readonly<Record<string, HealthCheck>>;
}

/** Input of PROBE_NODES: machines of one provider account, all of one cluster. */
export interface ProbeRequest {
  /** The cluster's name. */
  readonly clusterId: string;
  readonly provider: AccountRef;
  readonly nodes: readonly ProbedNode[];
  /**
   * Only whether the machines answer a new login within this time, in ms: the provider is not asked about
   * them, and nothing is tried again.
   */
  readonly answersWithinMs?: number;
}

/** A machine that is not as it should be. */
export interface Observation {
  readonly nodeId: string;
  readonly incarnation: number;
  readonly seen: Drift;
  /** One line for people: expected and found. */
  readonly why: string;
}

/** A machine whose state is unknown: no drift, because nothing was observed. */
export interface UnknownNode {
  readonly nodeId: string;
  readonly incarnation: number;
  readonly why: string;
}

/** Reply of PROBE_NODES. A machine in neither list has no drift. */
export interface ProbeReply {
  readonly observations: readonly Observation[];
  readonly unknown: readonly UnknownNode[];
  /**
   * What the checks of services found on machines that are as they should be; absent where none was asked
   * for.
   */
  readonly health?: readonly HealthObservation[];
}

export interface HealthObservation {
  readonly nodeId: string;
  readonly incarnation: number;
  readonly service: string;
  readonly well: boolean;
  readonly why?: string;
}

/** Input of FIND_MACHINES. */
export interface FindMachinesRequest {
  /** The cluster's name. */
  readonly clusterId: string;
  readonly provider: AccountRef;
  /**
   * ClusterUids of previous runs, from FIND_PREVIOUS_RUNS. They identify machines of providers
   * without tags, which do not have the cluster's name.
   */
  readonly uids?: readonly string[];
}

/** A machine of this installation, with the parts of its key. */
export interface FoundMachine {
  readonly providerid: string;
  readonly keyUid: string;
  readonly nodeId: string;
  readonly incarnation: number;
  /** Digest of the placement it was created for, if its tags contain it. */
  readonly placement?: string;
  /** As the provider shows it: `starting`, `running`, `stopped` or `failed`. */
  readonly state: string;
  /** RFC 3339, if the provider reports it. */
  readonly createdAt?: string;
}

/** Reply of FIND_MACHINES. The list may lag behind by the provider's consistency window. */
export interface FindMachinesReply {
  readonly machines: readonly FoundMachine[];
  /** Why this provider cannot list its machines, if it cannot. */
  readonly unable?: string;
}

/** Input of FIND_PREVIOUS_RUNS. */
export interface PreviousRunsRequest {
  /** The cluster's name. */
  readonly clusterId: string;
  /** Run ID of the requesting workflow, which is excluded, as are the runs that it continues. */
  readonly runId: string;
  /** The server knows no previous run: only groups of older runs are searched. */
  readonly isFirst?: boolean;
}

/** Previous runs of a cluster of this name. */
export interface PreviousRunsReply {
  /**
   * The clusterUids of closed runs that did not end by themselves (terminated, timed out, failed), newest
   * first, each once.
   */
  readonly uids: readonly string[];
  /** The clusterUids of all closed runs that the server still has. */
  readonly known: readonly string[];
  /** Workflow ids of groups that a previous run left running. */
  readonly groups?: readonly string[];
  /** True if the last run completed, or if there is none: nothing was left behind. */
  readonly clean: boolean;
}
