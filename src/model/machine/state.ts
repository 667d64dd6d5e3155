import type { Drift, MachineOperation, Quarantine } from '../../schema/output/machine.js';
import type { Labels } from '../cluster/labels.js';
import type { JsonObject } from '../json.js';
import type { Access } from './access.js';
import type { Erasure } from './erase.js';
import type { HardwareReading } from './hardware.js';
import type { ImageRef } from './image.js';
import type { DriftKind } from './intents.js';
import type { AccountReply, CaptureOwner } from './messages.js';
import type { MachineStateName } from './transitions.js';

export type { MachineOperation };

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
  /**
   * When a person confirmed that the provider has no machine of it, in ms since the epoch by
   * the server's clock.
   */
  readonly absenceConfirmedAt?: number;
  /**
   * CREATE is done, and the machine has not answered or been written yet: a retry completes its registration.
   */
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

/** Ended operations that a machine remembers. */
export const rememberedOperations = 20;

/** The reservation that holds a machine: changes by others are refused. */
interface Holder {
  readonly reservation: string;
  readonly user: string;
  /** RFC 3339. */
  readonly until: string;
}
