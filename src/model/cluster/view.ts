import type { FailureRecord } from '../node/failure.js';
import type { ServiceHealth } from '../node/health.js';
import type { JsonObject } from '../json.js';
import type { NodeLease } from '../node/lease.js';
import type { RecordedDrift } from '../node/drift.js';
import type { CurrentTask } from '../node/state.js';
import type { Operation } from './operation.js';
import type { PluginPins } from '../node/placement.js';
import type { Phase } from './state.js';

/** A cluster for people and programs; holds no secret. */
export interface ClusterStatus {
  readonly name: string;
  readonly uid: string;
  readonly phase: Phase;
  readonly operation?: Operation;
  /** The node that another workflow works on; nothing but a deletion begins meanwhile. */
  readonly lease?: NodeLease;
  readonly queued: readonly Operation[];
  readonly history: readonly Operation[];
  readonly nodes: readonly NodeStatus[];
  /** Configuration of the cluster's services; their names and where they stand. */
  readonly services: Readonly<Record<string, { readonly nodes: readonly string[] }>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** There is an earlier spec, so a rollback is possible. */
  readonly earlierSpec?: true;
  /** Its file locks the machines. */
  readonly locked?: true;
  /** Names of outputs that other clusters use, by the name of the other cluster. */
  readonly readers?: Readonly<Record<string, readonly string[]>>;
  /** Services that a user stopped. */
  readonly stopped: readonly string[];
  /**
   * How many probes of the machines were requested, and how many are done; the interval of periodic probes in
   * seconds, if there are any.
   */
  readonly checks: { readonly asked: number; readonly done: number; readonly every?: number };
  /** The plugins that the spec uses, as they were when it was planned last. */
  readonly plugins?: PluginPins;
  /** The workflows that carry the nodes beyond the first of a large cluster. */
  readonly groups?: readonly GroupStatus[];
}

export interface GroupStatus {
  readonly group: string;
  readonly workflowId: string;
  readonly nodes: number;
  /** How many of them failed and hold the operation. */
  readonly failed: number;
}

export interface NodeStatus {
  readonly nodeId: string;
  readonly group: string;
  readonly nodenum: number;
  readonly hostname: string;
  readonly incarnation: number;
  readonly provider?: string;
  readonly site?: string;
  readonly providerid?: string;
  readonly ipaddress?: string;
  readonly services: readonly string[];
  readonly running: readonly string[];
  /**
   * `incomplete`: it has a machine, and not all of its services were installed and configured.
   * `drifted`: at rest, and the last probe did not find its machine as it should be.
   */
  readonly state: 'new' | 'working' | 'incomplete' | 'ready' | 'drifted' | 'failed' | 'leaving';
  readonly current?: CurrentTask;
  readonly failure?: FailureRecord;
  /** Drift found by the last probe. */
  readonly drift?: RecordedDrift;
  /** What the checks of its services found last, by their names. */
  readonly health?: Readonly<Record<string, ServiceHealth>>;
  /** When a task or a probe last found its machine without drift (RFC 3339). */
  readonly checkedAt?: string;
  /** The payload without secrets. */
  readonly payload: JsonObject;
}
