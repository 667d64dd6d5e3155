import type { TaskVariables } from '../cluster/variables.js';
import type { JsonObject } from '../json.js';
import type { HealthCheck } from './health.js';
import type { RunName } from '../names.js';
import type { PluginPins } from './placement.js';

/** What the cluster workflow hands to a task's activity. */
export interface TaskRequest extends RunName {
  readonly clusterId: string;
  readonly clusterUid: string;
  readonly nodeId: string;
  readonly incarnation: number;
  readonly operation: string;
  readonly config: JsonObject;
  readonly cluster: JsonObject;
  /** The task must see the peers at least as new as this version. */
  readonly peersVersion: number;
  /** The workflow that knows the peers. */
  readonly peersOf: string;
  /** The service reads no peers: the task sees only its own node. */
  readonly peers?: 'none';
  /** Drained nodes, by their ids: the task does not see them. */
  readonly without?: readonly string[];
  readonly provider: { readonly name: string; readonly type: string; readonly fields: JsonObject };
  /** The uid in the machine's key, if a previous run of the cluster created the machine. */
  readonly keyUid?: string;
  /** For CREATE: the machine of this key already exists: adopt it instead of creating one. */
  readonly adopt?: true;
  /** For CREATE and DELETE: an earlier task may have created the machine of this key: call `find` first. */
  readonly createBegun?: true;
  /**
   * For CREATE and DELETE: when a person last confirmed that the provider has no such machine,
   * in ms since the epoch by the server's clock.
   */
  readonly absenceConfirmedAt?: number;
  /** For DELETE of a machine that was never confirmed, and that no user named. */
  readonly discards?: true;
  /**
   * For DELETE: when CREATE made the machine, in ms since the epoch; absent if that may have
   * been before a reset.
   */
  readonly madeAt?: number;
  /** For DELETE by the sweep: the machine must have no owner at that moment. */
  readonly swept?: true;
  /** For CONFIRM: longest time that the machine may not answer, in ms. */
  readonly answerWithinMs?: number;
  /** Digest of the placement of the node's machine. */
  readonly placement?: string;
  /** For CREATE: tags besides Heddle's own. */
  readonly labels?: Readonly<Record<string, string>>;
  /** For BOOTSTRAP: the automators that the node's services use. */
  readonly automators?: readonly string[];
  readonly service?: {
    readonly name: string;
    readonly action: { readonly type: string; readonly fields: JsonObject };
    readonly timeoutMs?: number;
  };
  /** Values of the variables that expressions in the action's fields refer to. */
  readonly variables?: TaskVariables;
  /** The plugins that may carry it out, as they were when the operation was planned. */
  readonly plugins?: PluginPins;
  /** For START: what it waits for when its action is done. */
  readonly check?: HealthCheck;
  /** For EXEC. */
  readonly command?: { readonly text: string; readonly sudo?: boolean; readonly timeoutMs?: number };
}

/** What a task's activity returns. */
export interface TaskOutcome {
  readonly result?: JsonObject;
  /** Of CREATE: the machine was there before, or may have been. */
  readonly found?: true;
  /** Tails of the output, for people; the whole is in the log. */
  readonly stdout?: string;
  readonly stderr?: string;
  readonly log?: string;
}
