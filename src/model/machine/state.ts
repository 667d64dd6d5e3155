import type { Labels } from '../cluster/labels.js';
import type { FailureRecord } from '../node/failure.js';
import type { JsonObject } from '../json.js';
import type { Access } from './access.js';
import type { Answer } from './answer.js';
import type { Erasure } from './erase.js';
import type { HardwareReading } from './hardware.js';
import type { ImageRef } from './image.js';
import type { DriftKind, MachineIntent } from './intents.js';
import type { AccountReply, CaptureOwner, RecordView } from './messages.js';
import type { NodeStatusReport } from './node-status.js';
import type { MachineStateName } from './transitions.js';

/** A standalone machine, while it is registered. */
export interface MachineState {
  readonly name: string;
  readonly uid: string;
  /** The workflow that owns it, if that is not its own: `image/web`. */
  readonly owner?: string;
  /** Whose images are that are captured of it; absent: a person's. */
  readonly capturesFor?: CaptureOwner;
  /**
   * Of its key: of a node's machine, which is worked on in the name of the node's owner, or of one that
   * was moved; else 1.
   */
  readonly incarnation?: number;
  /** The highest that it ever had or tried: no key is used twice. */
  readonly incarnations?: number;
  /** The incarnation that it is being moved to. */
  readonly moving?: number;
  readonly registration: Registration;
  /** Where it comes from and what can be done with it; absent until that was asked. */
  readonly account?: AccountReply;
  readonly state: MachineStateName;
  /** Why, where people should know. */
  readonly why?: string;
  readonly payload: JsonObject;
  /** CREATE was begun: there may be a machine. */
  readonly begun?: true;
  /** When a person confirmed that the provider has no machine of it, in ms since the epoch by the server's clock. */
  readonly absenceConfirmedAt?: number;
  /** CREATE is done, and the machine has not answered or been written yet: a retry completes its registration. */
  readonly unconfirmed?: true;
  /** The image that was put onto it last, and proved to be on it. */
  readonly image?: ImageRef & { readonly since: string };
  /** A write began and its success is unknown: the disk holds no valid image. */
  readonly half?: ImageRef;
  readonly user?: string;
  /** The account of its user, from before it is created until it is certainly gone. */
  readonly access?: Access;
  /** The reservation that holds it. */
  readonly holder?: Holder;
  /** It was switched off on request, and stays so. */
  readonly keepsOff?: true;
  /** By the last command that was done, or the last reading since. */
  readonly power?: 'on' | 'off';
  /** As last reported by its controller. */
  readonly hardware?: HardwareReading;
  /** A user had access, and its disks have not been erased since. */
  readonly unerased?: true;
  readonly erasure?: Erasure;
  /** Drift that the periodic checks found. */
  readonly drift?: readonly Drift[];
  /** Time of the last periodic check, RFC 3339. */
  readonly checkedAt?: string;
  /** The drift that is corrected automatically. */
  readonly correct?: readonly DriftKind[];
  readonly groups?: readonly string[];
  readonly labels?: Labels;
  /** It is not selected for anything until a user ends the quarantine. */
  readonly quarantine?: Quarantine;
  /** Number of consecutive failed operations. */
  readonly failures?: number;
  readonly operation?: MachineOperation;
  /** Previous operations, newest first. */
  readonly history: readonly MachineOperation[];
  readonly operations: number;
  /** How long each step took last time, in ms. */
  readonly measured: Readonly<Record<string, number>>;
}

/** Why a machine is not selected, although it may work. */
export interface Quarantine {
  /** A user, or `heddle` after consecutive failures. */
  readonly by: string;
  readonly comment: string;
  /** RFC 3339. */
  readonly since: string;
}

/** The registration of a machine. */
export interface Registration {
  readonly provider: string;
  readonly flavor: string;
  readonly image: string;
  readonly fields: JsonObject;
  /** The automator of its system; null for a resource without a system. */
  readonly system: string | null;
  /** The image that is loaded after a reservation. Default: the image that it was created from. */
  readonly defaultImage?: ImageRef;
  /** The drift that is corrected automatically. Default: none. */
  readonly correct?: readonly DriftKind[];
  readonly groups?: readonly string[];
  readonly labels?: Labels;
}

/** Something that was asked of a machine; one at a time. */
export interface MachineOperation {
  readonly id: string;
  /** As that of an operation of a cluster; absent where no other operation has the id. */
  readonly uid?: string;
  readonly intent: MachineIntent;
  readonly by: string;
  /** Idempotency key: a repeated request with the same key gets this operation. */
  readonly key?: string;
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  /** For an ended operation: whether the requested state holds. */
  readonly answer?: Answer;
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly step?: CurrentStep;
  readonly result?: OperationResult;
  readonly failure?: FailureRecord;
  /** What went otherwise than planned and did not stop it. */
  readonly notes: readonly string[];
}

interface CurrentStep {
  readonly step: string;
  readonly number: number;
  readonly of: number;
  readonly since: string;
  /** Time left when the step began, in ms, by what the steps took before. */
  readonly leftMs: number;
}

export interface OperationResult {
  readonly status?: NodeStatusReport;
  readonly power?: { readonly power: 'on' | 'off' | 'unknown'; readonly why?: string };
  readonly image?: ImageRef;
  readonly sizeMb?: number;
  readonly record?: RecordView;
  /** For LOAD: what had to be done. */
  readonly did?: 'nothing' | 'post-load' | 'everything';
}

/** Ended operations that a machine remembers. */
export const rememberedOperations = 20;

/** Drift of a machine, according to two consecutive equal observations. */
export interface Drift {
  readonly kind: DriftKind;
  readonly expected: string;
  readonly found: string;
  /** RFC 3339: the first of these readings. */
  readonly since: string;
  /** Number of consecutive equal observations. */
  readonly seen: number;
  /** Corrections that did not help. */
  readonly tries: number;
}

/** The reservation that holds a machine: changes by others are refused. */
interface Holder {
  readonly reservation: string;
  readonly user: string;
  /** RFC 3339. */
  readonly until: string;
}
