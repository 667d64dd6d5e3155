import type { Placement, PlannedPlacement } from './placement.js';
import type { Action } from '../action.js';
import type { JsonObject } from '../json.js';
import type { Drift, RecordedDrift } from './drift.js';
import type { FailureRecord } from './failure.js';
import type { TaskRun } from './run.js';
import type { ServiceHealth } from './health.js';

/**
 * Completed work on a node. The planner decides from these facts alone: planning again in the middle of an
 * operation yields exactly the remaining steps.
 */
export interface NodeFacts {
  /** Digest of the placement for which the machine was requested. */
  readonly machine?: string;
  readonly CREATE?: true;
  readonly CONFIRM?: true;
  /** Digest of the automators that prepared the node. */
  readonly BOOTSTRAP?: string;
  /** The operation in which EXEC ran last on the node. */
  readonly EXEC?: string;
  /**
   * Services whose INITIALIZE was begun on the machine, which may hold their data until REMOVE;
   * also services that the node no longer has.
   */
  readonly initialized?: readonly string[];
  /** The user requested the replacement of the machine in the running operation. */
  readonly toReplace?: true;
  /**
   * What an operation may remove here, because its first plan named it; another machine has no such record.
   */
  readonly mayRemove?: MayRemove;
  /** Drift found by the last probe. */
  readonly seen?: Drift;
  readonly services: Readonly<Record<string, ServiceFacts>>;
}

export interface MayRemove {
  /** Key of the operation. */
  readonly operation: string;
  /** The machine with its disk, and with it all services. */
  readonly machine?: true;
  readonly services: readonly string[];
}

export interface ServiceFacts {
  /** Digest of the action (and, for CONFIGURE, of the cluster's configuration) that was carried out. */
  readonly INSTALL?: string;
  readonly CONFIGURE?: string;
  readonly INITIALIZE?: string;
  /** Present while the service runs. */
  readonly START?: string;
  /** Version of the peers that CONFIGURE read. */
  readonly peers?: number;
  /** CONFIGURE was done while the service ran, and it has not read its new configuration yet. */
  readonly reloadDue?: true;
  /** Nodes that the last CONFIGURE left out: they were drained. */
  readonly without?: readonly string[];
  /** The operation in which each of these was done last. */
  readonly doneIn?: Readonly<Partial<Record<'CONFIGURE' | 'STOP' | 'START', string>>>;
  /** The action that began last; kept when it failed, so that tear-down knows what may be half done. */
  readonly begun?: Action;
}

export interface NodeState {
  readonly nodeId: string;
  readonly group: string;
  readonly nodenum: number;
  readonly hostname: string;
  /** Number of its machine; each new machine gets the next one. 0 until the first CREATE. */
  readonly incarnation: number;
  /**
   * Incarnations up to this one are not given to its machines: an earlier node of its name may
   * have had them, or the sweep deleted such a machine. Absent: 0.
   */
  readonly incarnationFloor?: number;
  readonly placement?: Placement;
  readonly payload: JsonObject;
  readonly facts: NodeFacts;
  /** Services the node has or is getting. */
  readonly services: readonly string[];
  /** True once the node is on its way out; peers no longer see it. */
  readonly leaving?: true;
  /** Uid of the operation in which it failed and that went on without it; peers do not see it. */
  readonly excluded?: string;
  /** The uid in its machine's key, if a previous run of the cluster created the machine. */
  readonly keyUid?: string;
  /** A previous run of the cluster created the machine, and CREATE has not adopted it yet. */
  readonly adopt?: true;
  /** When CREATE made the machine, in ms since the epoch; absent if it found the machine, or may have. */
  readonly madeAt?: number;
  /** CREATE of its machine was begun and has not succeeded: there may be a machine of its key. */
  readonly createBegun?: true;
  /**
   * When a person confirmed, after that, that the provider has no such machine, in ms since the
   * epoch by the server's clock.
   */
  readonly absenceConfirmedAt?: number;
  /** Version of the peers in which this node changed last. */
  readonly changedAt: number;
  /** The last run of each task in the current operation, by `<service>/<ACTION>`. */
  readonly runs: Readonly<Record<string, TaskRun>>;
  /** Why the node stopped; cleared by retry. */
  readonly failure?: FailureRecord;
  /** Drift found by the last probe, with the expected state. */
  readonly drift?: RecordedDrift;
  readonly current?: CurrentTask;
  /** How services that have a check were found last, by their names. For people. */
  readonly health?: Readonly<Record<string, ServiceHealth>>;
  /** When a task or a probe last found its machine as it should be (RFC 3339). For people. */
  readonly checkedAt?: string;
}

/** A machine of a previous run of the cluster, adopted by a node. */
export interface AdoptedMachine {
  readonly keyUid: string;
  readonly incarnation: number;
  readonly providerid: string;
  readonly placement: PlannedPlacement;
}

/** What a node is doing, for people. */
export interface CurrentTask {
  readonly action: Action;
  readonly service?: string;
  /** `queued`: waits for a place in flight; `paused`: until the operation is resumed. */
  readonly state: 'waiting' | 'queued' | 'paused' | 'running';
  /** Gates it waits for. */
  readonly gates?: readonly string[];
  /** RFC 3339. */
  readonly since: string;
}
