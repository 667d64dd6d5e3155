import type { JsonObject } from '../model/json.js';
import type {
  AccountsOutcome,
  CurrentReading,
  Knowledge,
  LoadOutcome,
  Outcome,
  PowerReading,
  SizeReading,
  UploadedImage,
} from '../model/machine/answer.js';
import type { DiskToErase } from '../model/machine/erase.js';
import type { BootDevice } from '../model/machine/boot.js';
import type { Hardware } from '../model/machine/hardware.js';
import type { ImageRef } from '../model/machine/image.js';

export type { DiskToErase } from '../model/machine/erase.js';
export type { BootDevice } from '../model/machine/boot.js';
export type {
  Hardware,
  HardwareDisk,
  HardwareInterface,
  HardwarePart,
  HardwareSensor,
} from '../model/machine/hardware.js';
export type { ImageRef } from '../model/machine/image.js';
export type {
  AccountsOutcome,
  CurrentReading,
  Knowledge,
  LoadOutcome,
  Outcome,
  PowerReading,
  SizeReading,
  UploadedImage,
};

export interface MachineInput {
  /**
   * The id that CREATE returned. Absent only for DELETE of a machine whose id is unknown; find it by its key.
   */
  readonly providerid?: string;
  readonly key: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly fields: JsonObject;
}

export interface ImageInput extends MachineInput {
  readonly image: ImageRef;
  /** The provider's name of the image: the account's `images` maps it. Default: name and revision. */
  readonly providerImage: string;
  /**
   * Idempotency token of this load or capture: with the same token the provider resumes it and never repeats
   * it.
   */
  readonly token: string;
  /** Reports progress as text. The engine gives up if the text does not change for too long. */
  readonly progress: (text: string) => void;
  /**
   * For captures: tags to set on the image in the creating call, if images have tags. `listImages` filters by
   * them.
   */
  readonly imageTags?: Readonly<Record<string, string>>;
}

export type BootTarget = 'disk' | 'image';

/** A command that connects its terminal to a console. */
export interface ConsoleCommand {
  readonly command: readonly string[];
  /** Environment. Secrets must be here and not in the arguments. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** An image in the provider's library, independent of any machine. */
export interface LibraryInput extends Pick<ImageInput, 'image' | 'providerImage' | 'token' | 'progress'> {
  /**
   * For uploads: tags to set on the image; `listImages` filters by them. For deletions: the key and the
   * cluster that the image was uploaded or captured with. An image with other tags belongs to another owner
   * and is not deleted.
   */
  readonly tags?: Readonly<Record<string, string>>;
}

export interface ImageFileInput extends LibraryInput {
  /** Path of a file on the builder. */
  readonly file: string;
  readonly format: string;
  /** For uploads: checksum of the file as it was built. */
  readonly sha256?: string;
  readonly bytes?: number;
}

/** Optional methods of a provider for existing machines, and for images. */
export interface MachineAbilities {
  /**
   * Each of the three power methods returns on success, on certain failure, or when the call's deadline
   * nears, and may be called again. It sends no command to a machine that is already in the wanted state.
   */
  powerStatus(machine: MachineInput): Promise<PowerReading>;
  powerOn(machine: MachineInput): Promise<Outcome>;
  /** Forces the power off if a clean shutdown fails. */
  powerOff(machine: MachineInput): Promise<Outcome>;
  /** Resets the machine with one command, after which it is on. Without it the engine switches off and on. */
  powerReset(machine: MachineInput): Promise<Outcome>;
  /** Selects what the machine boots next: its disk, or the system that writes the image. */
  setBoot(machine: MachineInput, target: BootTarget): Promise<Outcome>;
  bootTarget(machine: MachineInput): Promise<string | undefined>;
  /**
   * The machine's hardware as its controller reports it. Unknown parts are absent. Called when the machine is
   * registered, and on request.
   */
  hardware(machine: MachineInput): Promise<Hardware>;
  /**
   * The serial console of the machine. The CLI calls it on a host of the site, outside of
   * tasks: the machine has its `providerid` but no key.
   */
  console(machine: MachineInput): Promise<ConsoleCommand>;
  /** Selects what the machine boots once; later boots are unchanged. Its power state does not change. */
  bootOnce(machine: MachineInput, device: BootDevice): Promise<Outcome>;
  /** The image library. `imageSize` is called after `imageExists` answered yes. */
  imageExists(input: ImageInput): Promise<Knowledge>;
  imageSize(input: ImageInput): Promise<SizeReading>;
  /**
   * For providers of existing machines: lists the names of all machines of the account,
   * allocated or not, to test the account.
   */
  machineNames(): Promise<readonly string[]>;
  /**
   * Checks that an image can be loaded, before the machine is changed. `not done`: the image is
   * incomplete, or something else that a load needs is missing.
   */
  verifyImage(input: ImageInput): Promise<Outcome>;
  /** Copies an image into the library that `load` reads, unless it is already there. */
  retrieveImage(input: ImageInput): Promise<Outcome>;
  /**
   * Writes an image to the machine, which is off if the provider has power methods. Returns when the image is
   * complete. `not done` guarantees that the disk is unchanged; an interrupted write is `unknown`.
   */
  load(input: ImageInput): Promise<LoadOutcome>;
  /** Captures an image of the machine's current state, atomically. Never replaces an existing image. */
  capture(input: ImageInput): Promise<Outcome>;
  /**
   * Ends the program of `load`, `capture` or `retrieveImage` that runs outside of the worker, with all of its
   * processes. Called after such a call ended without a definite answer. `done`: no process is left.
   */
  endRun(machine: MachineInput): Promise<Outcome>;
  /**
   * Releases what the machine holds and removes all data of its user; its power state does not
   * change. Called for a machine that is on or off, and repeated after an interruption. Without
   * this ability the engine calls `sanitize`.
   */
  unload(machine: MachineInput): Promise<Outcome>;
  /**
   * The disks that the engine erases through the machine's shell: in UNLOAD, and in the first
   * LOAD after a user logged in. Called only if the account's field `erase` is a non-empty list.
   */
  disksToErase(machine: MachineInput): Promise<readonly DiskToErase[]>;
  /** The image that the provider has recorded for the machine, as a hint only. */
  assignedImage(machine: MachineInput): Promise<string | undefined>;
  /**
   * The plugin reaches this provider's resources itself, without SSH: services, devices and
   * other resources without a login. Such a resource has no address and no operating system.
   * CONFIRM, the periodic checks and LOAD call `reach` to check readiness and `currentImage` to
   * read its image. Checks once. `yes`: the resource accepts commands.
   */
  reach(machine: MachineInput): Promise<Knowledge>;
  /** The image that the resource itself reports now: the proof of a load. */
  currentImage(machine: MachineInput): Promise<CurrentReading>;
  /** With `reach`: whether a resource still matches its image. Undefined if that cannot be determined. */
  isAsImage(input: ImageInput): Promise<Knowledge | undefined>;
  /** With `reach`: marks the resource as no longer matching its image. Reasons accumulate. */
  taint(machine: MachineInput, note: { readonly reason: string; readonly at: string }): Promise<Outcome>;
  /**
   * Uploads a builder's file into the library as a new image, atomically. The token identifies the upload.
   * `providerImage` is the provider's name of the image if it differs from the input's.
   */
  uploadImage(input: ImageFileInput): Promise<Outcome & { readonly providerImage?: string }>;
  /**
   * Lists images that were uploaded or captured with all of these tags, including incomplete
   * ones, to detect leaked images.
   */
  listImages(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]>;
  /** Downloads an image into a file on a builder. */
  downloadImage(input: ImageFileInput): Promise<Outcome>;
  /** Deletes an image. An absent image is success; an image in use is `not done`. */
  deleteImage(input: LibraryInput): Promise<Outcome>;
}

export interface SystemInput {
  /** The image to load or capture. */
  readonly image: ImageRef;
  readonly machine: { readonly id: string; readonly hostname: string };
  /** The machine's last user, if known. */
  readonly user?: string;
  /** RFC 3339; equal in all attempts of a task. */
  readonly at: string;
  /** Asks the engine to reset this machine; resolves when it answers again. */
  readonly resetNode: () => Promise<Outcome>;
}

/**
 * Optional methods of an automator: the operating system's steps of loading and capturing, through the node's
 * shell. Each method may be called twice. A resource other than a machine may have some of these or none.
 */
export interface SystemPart {
  /** Prepares the system for capture: writes the image record and removes machine-specific files. */
  preCapture(input: SystemInput): Promise<Outcome>;
  /** Runs the steps after loading; the last one sets the tag that marks them as done. */
  postLoad(input: SystemInput): Promise<Outcome>;
  /** Prepares the system to be overwritten by a load. */
  preReload(input: SystemInput): Promise<Outcome>;
  /** Removes a user's data if no load follows. */
  sanitize(input: SystemInput): Promise<Outcome>;
  /** Whether the system matches its image. */
  checkImage(input: SystemInput): Promise<Knowledge>;
}

/** The account of a machine's user. */
export interface AccessInput {
  /** Name of the account. It begins with `hd-`; no other account's name does. */
  readonly login: string;
  /** One of the two credentials, for `grantAccess`. Both consist of letters, digits, spaces and `+/=_-@.`. */
  readonly password?: string;
  readonly publicKey?: string;
  /** RFC 3339: the account must expire within a day after this. */
  readonly until?: string;
  /** The account already exists, and only `until` is new. */
  readonly renewed?: true;
}

/**
 * Optional methods of an automator: `SystemPart`, and temporary accounts for users of its machines. The
 * engine's own login is never given to a user. Each method may be called twice and interrupted at any point.
 */
export interface AutomatorAbilities extends SystemPart {
  /**
   * Creates the account with exactly this credential, after removing earlier accounts of this kind. Never
   * adopts another account. `not done` if the machine cannot have accounts, such as a shared system.
   */
  grantAccess(input: AccessInput): Promise<AccountsOutcome>;
  /**
   * Ends the sessions, processes and scheduled jobs of every account that `grantAccess` created, deletes
   * these accounts with their files, and answers `done` once their absence is verified. Without such accounts
   * it answers `done` at once.
   */
  revokeAccess(input: AccessInput): Promise<AccountsOutcome>;
}
