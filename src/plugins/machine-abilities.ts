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
  /** As CREATE returned it. Absent only for DELETE of a machine whose id is unknown: find it by its key. */
  readonly providerid?: string;
  readonly key: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly fields: JsonObject;
}

export interface ImageInput extends MachineInput {
  readonly image: ImageRef;
  /**
   * The provider's own name: the account's `images` maps the image to it; default the name with its revision.
   */
  readonly providerImage: string;
  /**
   * Permanent name of this load or capture: with the same token the provider resumes it and never repeats it.
   */
  readonly token: string;
  /** Reports progress in words; the engine gives up when they do not change for too long. */
  readonly progress: (text: string) => void;
  /**
   * For captures: to be put on the image in the creating call, if images have tags; `listImages` looks for
   * them.
   */
  readonly imageTags?: Readonly<Record<string, string>>;
}

/**
 * Ability: power. Each verb returns on success, on certain failure, or when the call's deadline nears, and
 * may be called again. A machine that is in the wanted state gets no command.
 */
export interface CanPower {
  powerStatus(machine: MachineInput): Promise<PowerReading>;
  powerOn(machine: MachineInput): Promise<Outcome>;
  /** By force where a clean shutdown fails. */
  powerOff(machine: MachineInput): Promise<Outcome>;
}

/**
 * Ability: reset by one command, after which the machine is on. Without it the engine switches off and on.
 */
export interface CanReset {
  powerReset(machine: MachineInput): Promise<Outcome>;
}

export type BootTarget = 'disk' | 'image';

/** Ability: what the machine boots next: its disk, or the system that writes the image. */
export interface CanSetBoot {
  setBoot(machine: MachineInput, target: BootTarget): Promise<Outcome>;
  bootTarget?(machine: MachineInput): Promise<string | undefined>;
}

/**
 * Ability: what the machine consists of, by its controller. What is not known is absent. Called when the machine is
 * registered, and on request.
 */
export interface CanDescribeHardware {
  hardware(machine: MachineInput): Promise<Hardware>;
}

/** A program that connects its terminal to a console. */
export interface ConsoleCommand {
  readonly command: readonly string[];
  /** Secrets belong here, and not into the words. */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Ability: the serial console of the machine. Called by the command line on a host of the site, outside of tasks: the
 * machine has its `providerid`, and no key.
 */
export interface CanOpenConsole {
  console(machine: MachineInput): Promise<ConsoleCommand>;
}

/** Ability: what the machine boots next time; afterwards it boots as before. Its power stays as it is. */
export interface CanBootOnce {
  bootOnce(machine: MachineInput, device: BootDevice): Promise<Outcome>;
}

/** Ability: the library of images. `imageSize` is called after `imageExists` answered yes. */
export interface CanShowImages {
  imageExists(input: ImageInput): Promise<Knowledge>;
  imageSize(input: ImageInput): Promise<SizeReading>;
}

/** Ability of a provider of machines that exist: names all of the account, allocated or not, for a test of the account. */
export interface CanNameMachines {
  machineNames(): Promise<readonly string[]>;
}

/**
 * Ability: finds out that an image cannot be loaded before anything is done to the machine. `not done`: it is not whole, or
 * something else that a load needs is missing.
 */
export interface CanVerifyImage {
  verifyImage(input: ImageInput): Promise<Outcome>;
}

/** Ability: copies an image from elsewhere into the library that `load` reads, unless it is there. */
export interface CanRetrieve {
  retrieveImage(input: ImageInput): Promise<Outcome>;
}

/**
 * Ability: writes an image to the machine, which is off if it has power verbs. Returns when the image is
 * complete. `not done` promises that the disk is unchanged; a write that stopped part-way is `unknown`.
 */
export interface CanLoad {
  load(input: ImageInput): Promise<LoadOutcome>;
}

/** Ability: creates an image of the machine's present state, atomically; never replaces an image. */
export interface CanCapture {
  capture(input: ImageInput): Promise<Outcome>;
}

/**
 * Ability: ends the program of `load`, `capture` or `retrieveImage` that runs outside of the worker, with all of
 * its processes. Called after such a call ended without a certain answer. `done`: no process is left.
 */
export interface CanEndRun {
  endRun(machine: MachineInput): Promise<Outcome>;
}

/**
 * Ability: releases what the machine holds, and leaves nothing of its user; its power is as before. Called for a
 * machine that is on or off, and repeated after an interruption. Without it `sanitize` does that.
 */
export interface CanUnload {
  unload(machine: MachineInput): Promise<Outcome>;
}

/**
 * Ability: the disks that the engine erases over the machine's shell: in UNLOAD, and in the first LOAD after a user
 * logged in. Called only if the account's field `erase` is a list with entries.
 */
export interface CanErase {
  disksToErase(machine: MachineInput): Promise<readonly DiskToErase[]>;
}

/** Ability: the image that the provider has recorded for the machine; evidence only. */
export interface CanReportAssigned {
  assignedImage(machine: MachineInput): Promise<string | undefined>;
}

/**
 * Ability: the plugin reaches this provider's resources itself, without SSH: services, devices, anything
 * without a login. Such a resource has no address and no system; CONFIRM, the periodic checks and LOAD call
 * `reach` for its readiness, and `currentImage` for its image.
 */
export interface CanBeReached {
  /** One check. `yes`: it accepts commands. */
  reach(machine: MachineInput): Promise<Knowledge>;
  /** What the resource itself reports now: the proof of a load. */
  currentImage(machine: MachineInput): Promise<CurrentReading>;
}

/** Ability, beside `reach`: whether a resource still matches its image. Undefined: that cannot be known. */
export interface CanCheckImage {
  isAsImage(input: ImageInput): Promise<Knowledge | undefined>;
}

/** Ability, beside `reach`: marks the resource as no longer matching its image. Reasons accumulate. */
export interface CanTaint {
  taint(machine: MachineInput, note: { readonly reason: string; readonly at: string }): Promise<Outcome>;
}

/** An image in the provider's library, apart from any machine. */
export interface LibraryInput extends Pick<ImageInput, 'image' | 'providerImage' | 'token' | 'progress'> {
  /**
   * For uploads: to be put on the image when it is taken in; `listImages` looks for them. For deletions: the key and
   * the cluster that it was uploaded or captured with. An image with others belongs to another owner, and stays.
   */
  readonly tags?: Readonly<Record<string, string>>;
}

export interface ImageFileInput extends LibraryInput {
  /** Path of a file on the builder. */
  readonly file: string;
  readonly format: string;
  /** For uploads: of the file, as it was built. */
  readonly sha256?: string;
  readonly bytes?: number;
}

/**
 * Ability: uploads a builder's file into its library as a new image, atomically; the same token is the same
 * upload. `providerImage` is the provider's own name for it, if that differs from the input's.
 */
export interface CanUploadImage {
  uploadImage(input: ImageFileInput): Promise<Outcome & { readonly providerImage?: string }>;
}

/**
 * Ability: images uploaded or captured with all of these tags, incomplete ones included; detects leaked
 * images.
 */
export interface CanListImages {
  listImages(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]>;
}

/** Ability: writes an image into a file of a builder. */
export interface CanDownloadImage {
  downloadImage(input: ImageFileInput): Promise<Outcome>;
}

/** Ability: deletes an image. Absence is success; an image in use is `not done`. */
export interface CanDeleteImage {
  deleteImage(input: LibraryInput): Promise<Outcome>;
}

/** Optional abilities of a provider for existing machines, and for images. */
export type MachineAbilities = CanPower &
  CanReset &
  CanSetBoot &
  CanBootOnce &
  CanDescribeHardware &
  CanOpenConsole &
  CanShowImages &
  CanRetrieve &
  CanVerifyImage &
  CanNameMachines &
  CanLoad &
  CanCapture &
  CanEndRun &
  CanUnload &
  CanErase &
  CanReportAssigned &
  CanBeReached &
  CanCheckImage &
  CanTaint &
  CanUploadImage &
  CanListImages &
  CanDownloadImage &
  CanDeleteImage;

export interface SystemInput {
  /** The image that is loaded, or that is to be captured. */
  readonly image: ImageRef;
  readonly machine: { readonly id: string; readonly hostname: string };
  /** Who had the machine, where that is known. */
  readonly user?: string;
  /** RFC 3339; the same in every attempt of a task. */
  readonly at: string;
  /** Has the engine reset this machine; resolves when it answers again. */
  readonly resetNode: () => Promise<Outcome>;
}

/**
 * Ability of an automator: the system's part in loading and capturing, over the node's shell. Each may be
 * called twice. A resource other than a machine may have some of these, or none.
 */
export interface SystemPart {
  /** Prepares the system for capture: writes the image record, removes what belongs to this machine only. */
  preCapture(input: SystemInput): Promise<Outcome>;
  /** The steps after loading; the last one sets the tag that marks them as done. */
  postLoad(input: SystemInput): Promise<Outcome>;
  /** Prepares the system for being overwritten by a load. */
  preReload(input: SystemInput): Promise<Outcome>;
  /** Removes what a user left, where no load follows. */
  sanitize(input: SystemInput): Promise<Outcome>;
  /** Whether the system matches its image. */
  checkImage(input: SystemInput): Promise<Knowledge>;
}

/** The account of a machine's user. */
export interface AccessInput {
  /** Name of the account; it begins with `hd-`, and no other account's name does. */
  readonly login: string;
  /** One of the two, for `grantAccess`. Both are made of letters, digits, blanks and `+/=_-@.` alone. */
  readonly password?: string;
  readonly publicKey?: string;
  /** RFC 3339: the account must expire within a day after this. */
  readonly until?: string;
  /** The account exists already, and only `until` is new. */
  readonly renewed?: true;
}

/**
 * Ability of an automator: accounts for users of its machines, each for a limited time. The login that the
 * engine itself uses is never given to a user. Each method may be called twice, and cut anywhere.
 */
export interface CanGrantAccess {
  /**
   * Creates the account with exactly this credential, after removing earlier accounts of this kind. Never
   * adopts another account. `not done` where the machine cannot have accounts, such as a shared system.
   */
  grantAccess(input: AccessInput): Promise<AccountsOutcome>;
  /**
   * Ends the sessions, processes and timed jobs of every account that `grantAccess` created, removes these
   * accounts with their files, and answers `done` when it has seen that they are gone. Without any it is done
   * at once.
   */
  revokeAccess(input: AccessInput): Promise<AccountsOutcome>;
}

/**
 * Ability: notifications about machines, for clean-up elsewhere. Each may be called twice, or never if a
 * worker dies: nothing may depend on them. Errors are logged only.
 */
export interface CanBeNotified {
  /** DELETE of this machine has succeeded: its absence was observed. */
  nodeDeleted?(input: MachineInput): Promise<void>;
  /**
   * A used machine of a pool is ready for the next request. Called outside of tasks: `this.task` names no
   * node.
   */
  nodeReused?(input: MachineInput): Promise<void>;
}
