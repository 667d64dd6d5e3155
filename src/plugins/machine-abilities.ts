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
import type { ImageRef } from '../model/machine/image.js';
import type { MachineInput } from './machine-input.js';

export type {
  AccountsOutcome,
  CurrentReading,
  Knowledge,
  LoadOutcome,
  Outcome,
  PowerReading,
  SizeReading,
  UploadedImage,
} from '../model/machine/answer.js';
export type { ImageRef } from '../model/machine/image.js';

export interface ImageInput extends MachineInput {
  readonly image: ImageRef;
  /**
   * The provider's own word for it: what the account's `images` maps the name to, else the name with its
   * revision.
   */
  readonly providerImage: string;
  /**
   * Names this load or capture for ever. Asked again with the same token, the provider goes on with what it
   * began and never begins a second time.
   */
  readonly token: string;
  /** Tells how far it is, in words; the engine gives up when nothing new was told for too long. */
  readonly progress: (text: string) => void;
  /**
   * For captures: to be put on the image in the call that makes it, where the provider has tags for images;
   * `listImages` looks for them.
   */
  readonly imageTags?: Readonly<Record<string, string>>;
}

/**
 * Ability: power. Each verb returns when it is so, or when it certainly is not, or when the call's deadline
 * nears; it may be called again. What is as it should be already is done, without a command to the machine.
 */
export interface CanPower {
  powerStatus(machine: MachineInput): Promise<PowerReading>;
  powerOn(machine: MachineInput): Promise<Outcome>;
  /** Hard where a gentle way does not end it. */
  powerOff(machine: MachineInput): Promise<Outcome>;
}

/**
 * Ability: a reset by one command. Without it the engine switches off and on. It ends with the machine on,
 * whatever it was.
 */
export interface CanReset {
  powerReset(machine: MachineInput): Promise<Outcome>;
}

export type BootTarget = 'disk' | 'image';

/** Ability: what the machine boots next: its disk, or whatever writes the image. */
export interface CanSetBoot {
  setBoot(machine: MachineInput, target: BootTarget): Promise<Outcome>;
  bootTarget?(machine: MachineInput): Promise<string | undefined>;
}

/** Ability: the library of images. `imageSize` is asked after `imageExists` said yes. */
export interface CanShowImages {
  imageExists(input: ImageInput): Promise<Knowledge>;
  imageSize(input: ImageInput): Promise<SizeReading>;
}

/**
 * Ability: brings an image from elsewhere into the library that `load` reads. What is there already is done.
 */
export interface CanRetrieve {
  retrieveImage(input: ImageInput): Promise<Outcome>;
}

/**
 * Ability: puts an image onto the machine, which is switched off where it has power verbs. Returns when it is
 * whole. `not done` promises that the disk is as it was; a write that stopped in the middle is `unknown`.
 */
export interface CanLoad {
  load(input: ImageInput): Promise<LoadOutcome>;
}

/** Ability: makes an image of what the machine is now, whole or not at all; never over one that is there. */
export interface CanCapture {
  capture(input: ImageInput): Promise<Outcome>;
}

/**
 * Ability: gives back what the machine held, and leaves nothing of its user. Without it the system's part
 * sanitises.
 */
export interface CanUnload {
  unload(machine: MachineInput): Promise<Outcome>;
}

/** Ability: the image that the provider has the machine down for; evidence only. */
export interface CanTellAssigned {
  assignedImage(machine: MachineInput): Promise<string | undefined>;
}

/**
 * Ability: what this provider has is reached by the plugin, in place of SSH: a service, a device, anything
 * that nobody logs in to. Whoever has `reach` has `currentImage`, too. Such a resource has no address and no
 * system; CONFIRM, the looks and LOAD ask `reach` whether it takes orders, and `currentImage` what it has.
 */
export interface CanBeReached {
  /** One look. `yes`: it takes orders. */
  reach(machine: MachineInput): Promise<Knowledge>;
  /** What the resource itself says, now: the proof of a load. */
  currentImage(machine: MachineInput): Promise<CurrentReading>;
}

/**
 * Ability of a provider whose resources are reached by the plugin: whether one is still as its image says.
 * Undefined: that is never known.
 */
export interface CanCheckImage {
  isAsImage(input: ImageInput): Promise<Knowledge | undefined>;
}

/**
 * Ability of a provider whose resources are reached by the plugin: notes, on the resource, that its image is
 * not what it was any more. Reasons accumulate.
 */
export interface CanTaint {
  taint(machine: MachineInput, note: { readonly reason: string; readonly at: string }): Promise<Outcome>;
}

/** An image in the provider's library, apart from any machine. */
export type LibraryInput = Pick<ImageInput, 'image' | 'providerImage' | 'token' | 'progress'>;

export interface ImageFileInput extends LibraryInput {
  /** Path of a file on the builder. */
  readonly file: string;
  readonly format: string;
  /** For uploads: of the file, as it was built. */
  readonly sha256?: string;
  readonly bytes?: number;
  /** For uploads: to be put on the image when it is taken in; `listImages` looks for them. */
  readonly tags?: Readonly<Record<string, string>>;
}

/**
 * Ability: takes a file of a builder into its library as a new image, whole or not at all. With the same
 * token it is the same upload. `providerImage` is its own word for it, where that is not the one it was asked
 * for with.
 */
export interface CanUploadImage {
  uploadImage(input: ImageFileInput): Promise<Outcome & { readonly providerImage?: string }>;
}

/**
 * Ability: images that were uploaded or captured with all of these tags, half ones included. Those that
 * nobody knows are found so.
 */
export interface CanListImages {
  listImages(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]>;
}

/** Ability: writes an image into a file of a builder. */
export interface CanDownloadImage {
  downloadImage(input: ImageFileInput): Promise<Outcome>;
}

/** Ability: deletes an image. Absent already is done; in use is `not done`. */
export interface CanDeleteImage {
  deleteImage(input: LibraryInput): Promise<Outcome>;
}

/** What a provider may be able to do with a machine that is there, and with images. */
export type MachineAbilities = CanPower &
  CanReset &
  CanSetBoot &
  CanShowImages &
  CanRetrieve &
  CanLoad &
  CanCapture &
  CanUnload &
  CanTellAssigned &
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
  /** Asks the engine to reset this very machine; it is waited for until it answers again. */
  readonly resetNode: () => Promise<Outcome>;
}

/**
 * Ability of an automator: the system's part in loading and capturing, over the node's shell. Each may be
 * called twice. A resource that is no computer may have some of these, or none.
 */
export interface SystemPart {
  /**
   * Makes the system fit to be captured: writes the record of the image, takes out what belongs to this one
   * machine.
   */
  preCapture(input: SystemInput): Promise<Outcome>;
  /** The steps after loading; ends with the tag that says that they are done. */
  postLoad(input: SystemInput): Promise<Outcome>;
  /** Last rites for the system that a load is about to overwrite. */
  preReload(input: SystemInput): Promise<Outcome>;
  /** Takes out what a user left, where no load follows. */
  sanitize(input: SystemInput): Promise<Outcome>;
  /** Whether the system is as its image should be. */
  checkImage(input: SystemInput): Promise<Knowledge>;
}

/** The account of a machine's user. */
export interface AccessInput {
  /** Name of the account; it begins with `hd-`, and no other account's name does. */
  readonly login: string;
  /** One of the two, for `grantAccess`. Both are made of letters, digits, blanks and `+/=_-@.` alone. */
  readonly password?: string;
  readonly publicKey?: string;
  /** RFC 3339: the account must not be of use later than a day after this. */
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
   * Creates the account with exactly this credential, after removing what any earlier account of this kind
   * left. Never takes over another account. `not done` where the machine cannot have accounts, as one that
   * shares its system.
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
 * Ability: hears of machines after the fact, to tidy up what belongs to them elsewhere. Each may be called
 * twice, and is not called when a worker dies at the wrong moment: nothing may depend on it. What it throws
 * is logged, and changes nothing.
 */
export interface CanHear {
  /** DELETE of this machine is done: its absence was seen. */
  nodeDeleted?(input: MachineInput): Promise<void>;
  /**
   * A used machine of a pool is ready for the next request. Called outside of tasks: `this.task` names no
   * node.
   */
  nodeReused?(input: MachineInput): Promise<void>;
}
