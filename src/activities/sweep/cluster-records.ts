import type { NamedMachine, Ownership } from '../../model/node/ownership.js';
import type { Origin } from '../../model/sweep/sweep.js';

export type RecordStatus = 'living' | 'ended' | 'cut' | 'unknown';

export interface ClusterRecord {
  readonly status: RecordStatus;
  /** Of its last run, where it can be read. */
  readonly uid?: string;
}

/**
 * Answers of the Temporal server and of cluster workflows about existence and ownership of machines. Pools
 * count as clusters named `pool/<name>`, as in the tags of their machines.
 */
export interface ClusterRecords {
  /**
   * `living`: its workflow runs, or ended a moment ago; `ended`: it came to its own end; `cut`: a person or
   * something ended it before that; `unknown`: the server has no such workflow. The workflow itself is looked
   * up, so nothing lags.
   */
  record(clusterName: string): Promise<ClusterRecord>;
  /** The uids of all runs that the server still has, as its index shows them. */
  uids(clusterName: string): Promise<readonly string[]>;
  /**
   * All that live, as the server's index has them: what just started may be missing. `uid` where it can be
   * read.
   */
  living(): Promise<readonly LivingCluster[]>;
  /** Where pools and images were moved from, also those that have ended; from the index. */
  origins(): Promise<readonly Origin[]>;
  /** Asks the workflow of a cluster or of a group; an answer for each machine, in their order. */
  owners(workflowId: string, machines: readonly NamedMachine[]): Promise<readonly Ownership[]>;
  /**
   * When a workflow, or the cluster of a group, was last reset, in ms since the epoch;
   * undefined if neither was.
   */
  resetAt(workflowId: string): Promise<number | undefined>;
  /** The same as `owners`, and keys of free ones are never used again. */
  disown(workflowId: string, machines: readonly NamedMachine[]): Promise<readonly Ownership[]>;
}

export interface LivingCluster {
  readonly name: string;
  readonly uid?: string;
}
