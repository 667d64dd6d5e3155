import type { ImageRef } from '../machine/image.js';
import type { JsonObject } from '../json.js';

/**
 * Where a node's machine comes from; frozen with the machine, so that a retried CREATE asks for the same
 * again.
 */
export interface Placement {
  readonly provider: string;
  readonly type: string;
  readonly site: string;
  readonly flavor: string;
  readonly image: string;
  /** The user's fields for the provider; secrets are references. */
  readonly fields: JsonObject;
  /** Longest time until the provider has taken the order for the machine, in ms. */
  readonly launchWithinMs?: number;
  /** Longest wait until the machine answers, in ms. */
  readonly confirmWithinMs?: number;
  /**
   * Longest time that an existing machine may not answer, in ms; unlike the other, without the
   * wait for a worker.
   */
  readonly answerWithinMs?: number;
  /** The account has machines that exist: another CREATE would allocate the same. */
  readonly isExisting?: true;
  /** Tags that CREATE adds to Heddle's own. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The version of an image of the library that `image` is. */
  readonly built?: ImageRef;
}

/** A placement and its digest, which a node keeps to see later whether it changed. */
export interface PlannedPlacement extends Placement {
  readonly digest: string;
}

/** By type and name of the plugin, such as `automator shell`. */
export type PluginPins = Readonly<Record<string, PluginPin>>;

interface PluginPin {
  readonly version: string;
  /** Of its files. Absent for what comes with Heddle: that changes with Heddle, whose builds fit together. */
  readonly digest?: string;
}
