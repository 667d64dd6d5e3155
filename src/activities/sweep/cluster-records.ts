import type { NamedMachine, Ownership } from '../../model/node/ownership.js';
import type { Origin } from '../../model/sweep/sweep.js';

export type RecordStatus = 'living' | 'ended' | 'cut' | 'unknown';

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
  status(clusterName: string): Promise<RecordStatus>;
  /**
   * All that live, as the server's index has them: what just started may be missing. `uid` where it can be
   * read.
   */
  living(): Promise<readonly LivingCluster[]>;
  /** Where pools and images were moved from, also those that have ended; from the index. */
  origins(): Promise<readonly Origin[]>;
  /** Whether the index shows any workflow of a cluster, living or closed. */
  hasAny(): Promise<boolean>;
  /** Asks the workflow of a cluster or of a group; an answer for each machine, in their order. */
  owners(workflowId: string, machines: readonly NamedMachine[]): Promise<readonly Ownership[]>;
  /** The same, and keys of free ones are never used again. */
  disown(workflowId: string, machines: readonly NamedMachine[]): Promise<readonly Ownership[]>;
}

export interface LivingCluster {
  readonly name: string;
  readonly uid?: string;
}
