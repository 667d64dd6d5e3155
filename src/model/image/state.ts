import type { MachineState } from '../machine/state.js';
import type { Moved } from '../move.js';
import type { Build } from './build.js';
import type { LeasedNode } from './node.js';
import type { Offers } from './notification.js';
import type { ImageSpec } from './spec.js';

/** An image and its builds. While it is exported, nothing is built, uploaded or deleted. */
export interface ImageState extends Moved {
  readonly name: string;
  readonly uid: string;
  readonly spec?: ImageSpec;
  /** Newest first. */
  readonly builds: readonly Build[];
  /** Number of the last build. */
  readonly numbers: number;
  /** Nothing is built until it is resumed. */
  readonly paused?: { readonly by: string; readonly at: string; readonly why: string };
  /** Nothing is uploaded to these provider accounts until they are resumed. */
  readonly pausedUploads?: Readonly<Record<string, PausedUploads>>;
  /** Accounts that were removed from `uploads` and may still have an upload. */
  readonly withdrawn?: readonly string[];
  /** A build is wanted; it stays until one has succeeded. */
  readonly request?: BuildRequest;
  /** Everything is to go. */
  readonly leaving?: { readonly by: string; readonly at: string };
  /**
   * When a person confirmed the absence of a machine of a build, in ms since the epoch by the server's clock.
   */
  readonly absenceConfirmedAt?: number;
  /** Machines of builds that are not known to be gone. */
  readonly machines: readonly MachineState[];
  /** The node of a cluster or a pool that a build works on. */
  readonly lease?: LeasedNode;
  /** What was published last of the versions that are offered. */
  readonly published?: Published;
}

interface PausedUploads {
  readonly by: string;
  readonly at: string;
}

export interface Published {
  readonly version: number;
  readonly offers: Offers;
  readonly gone?: true;
  /** Subscribed workflows, and the last version sent to each. */
  readonly watchers: Readonly<Record<string, number>>;
}

export interface BuildRequest {
  readonly by: string;
  readonly at: string;
  /** Builds that it has begun, and that came to nothing. */
  readonly failed: number;
  /** Not before this, in ms since the epoch. */
  readonly notBefore?: number;
}
