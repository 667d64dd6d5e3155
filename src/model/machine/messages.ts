import type { JsonObject } from '../json.js';
import type { TaskRequest } from '../node/task-request.js';
import type { Access } from './access.js';
import type { Known, Power } from './answer.js';
import type { ErasedDisk } from './erase.js';
import type { Hardware } from './hardware.js';
import type { ImageRef } from './image.js';
import type { NodeStatusReport } from './node-status.js';
import type { BootDevice } from './boot.js';

/** What a machine's workflow hands to the activity of a machine action. */
export interface MachineTaskRequest extends TaskRequest {
  readonly order: MachineOrder;
}

/** What the action is about, beside the machine itself. */
export interface MachineOrder {
  /** For POWER_…, NODE_STATUS and REACH: absent. For NODE_STATUS with it: the one that is wanted. */
  readonly image?: ImageRef;
  /** For NODE_STATUS: a log-in that was seen counts as a taint. */
  readonly logIns?: true;
  /** Skip the comparison with the image, which may take long, in repeated checks. */
  readonly unchecked?: true;
  /** Names one load or one capture for ever. */
  readonly token?: string;
  /** The automator of the machine's system; absent if the resource has none. */
  readonly system?: string;
  /** RFC 3339; the same in every attempt. */
  readonly at: string;
  /** For REACH: the disk is new and may show another host key. */
  readonly fresh?: true;
  /** Who has or had the machine. */
  readonly user?: string;
  /** For GRANT_ACCESS and REVOKE_ACCESS. */
  readonly access?: Access;
  /** For TAINT. */
  readonly reason?: string;
  /** For ACQUIRE_PERMIT and RELEASE_PERMIT: whose workers. */
  readonly slots?: { readonly site: string };
  /** For CAPTURE: the owner of the image and its key; absent: a person, who names it. */
  readonly belongs?: CaptureOwner;
  /** For BOOT_ONCE. */
  readonly device?: BootDevice;
  /** For SET_BOOT. */
  readonly boot?: 'disk' | 'image';
  /** The provider's own word for the image, where the provider gave it one. */
  readonly providerImage?: string;
  /** For DOWNLOAD_IMAGE, UPLOAD_IMAGE and REMOVE_FILE: a file of the image on the builders. */
  readonly file?: {
    readonly path: string;
    readonly format: string;
    readonly sha256?: string;
    readonly bytes?: number;
  };
  /** For BUILD_FILE. */
  readonly command?: FileCommand;
}

/** The workflow that knows an image which was captured for it, and the key that it knows it by. */
export interface CaptureOwner {
  readonly cluster: string;
  readonly key: string;
}

/** A command of the builders, by its name, and the formats that it is to leave a file of each. */
interface FileCommand {
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly formats: readonly string[];
  readonly timeoutMs?: number;
}

/** A file that a builder has. */
export interface BuiltFile {
  readonly path: string;
  readonly format: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** What came of it. An answer other than done is a failure, and no outcome. */
export interface MachineTaskOutcome {
  /** Merged into the machine's payload. */
  readonly payload?: JsonObject;
  readonly power?: { readonly power: Power; readonly why?: string };
  readonly status?: NodeStatusReport;
  readonly exists?: { readonly is: Known; readonly why?: string };
  readonly sizeMb?: number;
  readonly record?: RecordView;
  /** For CHECK_MARK: whether the disk has the mark that the load set before writing. */
  readonly mark?: 'present' | 'absent';
  /** For LOAD: the provider wrote nothing. */
  readonly untouched?: true;
  /** For READ_HARDWARE. */
  readonly hardware?: Hardware;
  /** For ERASE. */
  readonly erased?: readonly ErasedDisk[];
  /** For MAKE_PASSWORD. */
  readonly password?: string;
  /** For GRANT_ACCESS and REVOKE_ACCESS: digest of the machine's own accounts. */
  readonly accounts?: string;
  /** Files that were made, and where. */
  readonly files?: readonly BuiltFile[];
  readonly builder?: string;
  /** The provider's own name of the uploaded image. */
  readonly providerImage?: string;
  /** Name of the task's log in the store. */
  readonly log?: string;
}

/** What an operation of a machine returned. */
export interface OperationResult {
  readonly status?: NodeStatusReport;
  readonly power?: { readonly power: 'on' | 'off' | 'unknown'; readonly why?: string };
  readonly image?: ImageRef;
  readonly sizeMb?: number;
  readonly record?: RecordView;
  /** For LOAD: what had to be done. */
  readonly did?: 'nothing' | 'post-load' | 'everything';
}

/** A machine's record of its image, read just now; null where it has none. */
export interface RecordView {
  readonly name: string | null;
  readonly revision: string | null;
  readonly tainted: readonly string[] | null;
  readonly postLoad: string | null;
  /** The plugin reported it instead of SSH: the resource itself names its content. */
  readonly by?: 'plugin';
}

/** A provider account for the registration of a machine. */
export interface AccountRequest {
  readonly provider: string;
  readonly flavor: string;
  readonly image: string;
  readonly fields: JsonObject;
  readonly system: string | null;
}

export interface AccountReply {
  readonly type: string;
  readonly site: string;
  /** The provider's own words. */
  readonly flavor: string;
  readonly image: string;
  /** The machine actions that the provider, and the system's part, can carry out. */
  readonly can: readonly string[];
  /** Consecutive failures after which a machine is quarantined; 0 for never. */
  readonly quarantineAfter?: number;
  /** Limit of a load, unless the request has one. */
  readonly loadWithinMs?: number;
}
