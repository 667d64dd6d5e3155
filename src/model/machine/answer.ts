import { imageUnusable } from '../node/failure.js';
import type { ImageRef } from './image.js';

/**
 * What trying to do something came to. `unknown`: the outcome is not known, because a network or a management
 * controller did not answer. It is never taken for either of the others.
 */
export type Answer = 'done' | 'not done' | 'unknown';

/** What is known of a yes-or-no question. */
export type Known = 'yes' | 'no' | 'unknown';

/** What a power reading shows. */
export type Power = 'on' | 'off' | 'unknown';

/**
 * What a verb came to. `unknown` without an answer; throwing Retryable, NotReady or UnknownOutcome says
 * the same, and any other kind of PluginError says `not done`. `why` belongs to all but `done`.
 */
export interface Outcome {
  readonly answer: Answer;
  readonly why?: string;
}

/** What a verb on accounts came to. `accounts`: a digest of all else on the machine that lets people in. */
export type AccountsOutcome = Outcome & { readonly accounts?: string };

/** What a load came to. `untouched`: the provider writes no disks, so a load removes nothing from them. */
export type LoadOutcome = Outcome & { readonly untouched?: true };

/** What a question came to; `why` belongs to `unknown`. */
export interface Knowledge {
  readonly is: Known;
  readonly why?: string;
}

export interface PowerReading {
  readonly power: Power;
  readonly why?: string;
}

/** `sizeMb` in whole megabytes, rounded up; absent: not known. */
export interface SizeReading {
  readonly sizeMb?: number;
  readonly why?: string;
}

/**
 * The image that a resource reports. `no`: it reports none. `tainted`: why a user may have changed it, if
 * known.
 */
export type CurrentReading =
  | { readonly is: 'yes'; readonly image: ImageRef; readonly tainted?: readonly string[] }
  | { readonly is: 'no' }
  | { readonly is: 'unknown'; readonly why?: string };

/** Why a task failed, read as an answer: kinds of failure after which it is certain that nothing was done. */
const certain: readonly string[] = [
  'Invalid',
  'Auth',
  'Capacity',
  'Quota',
  'MachineFailed',
  imageUnusable,
  'ScriptFailed',
];

/**
 * Whatever does not certainly say "not done" is unknown: an outcome that was lost, a time limit, a fault of
 * ours.
 */
export function answerOfFailure(kind: string): Exclude<Answer, 'done'> {
  return certain.includes(kind) ? 'not done' : 'unknown';
}

/** An image that was taken in with tags. */
export interface UploadedImage {
  /** The provider's own word for it. */
  readonly providerImage: string;
  readonly tags: Readonly<Record<string, string>>;
  /** When it was captured or uploaded, according to the provider, RFC 3339. */
  readonly createdAt?: string;
}
