import type { JsonObject } from '../model/json.js';
import { imageUnusable, unknownOutcome } from '../model/node/failure.js';

/**
 * Kinds of failure, by which the engine decides what follows.
 * - Retryable: a transient fault (5xx, 429, a lost connection); retried with backoff.
 * - NotReady: not a fault; checked again later.
 * - Capacity, Quota: the provider has no capacity left, or the account's quota is used up.
 * - Auth, Invalid: a retry cannot help; a person must change something.
 * - MachineFailed: the machine was made and ended in error, or is gone; another one takes its place.
 * - ImageUnusable: nothing was done to the machine, because an image is missing or not whole, or something else that its
 *   load needs on any machine is missing.
 * - UnknownOutcome: a change was sent, and whether it happened is unknown.
 * - ScriptFailed: a script on the node ended with an exit code that is not accepted.
 */
export const failureKinds = [
  'Retryable',
  'NotReady',
  'Capacity',
  'Quota',
  'Auth',
  'Invalid',
  'MachineFailed',
  imageUnusable,
  unknownOutcome,
  'ScriptFailed',
] as const;
export type FailureKind = (typeof failureKinds)[number];

export interface PluginErrorOptions {
  readonly cause?: unknown;
  /** Earliest time to try again, in ms from now (a provider's Retry-After). */
  readonly retryAfterMs?: number;
  /** Partial result; only `providerid` and the machine's names are kept. */
  readonly result?: JsonObject;
  readonly stdout?: string;
  readonly stderr?: string;
  /** Of the script, for ScriptFailed. */
  readonly exitCode?: number;
}

/** Fails a task. The message says what was attempted, what came back, and what a person can do. */
export class PluginError extends Error {
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;
  readonly result: JsonObject | undefined;
  readonly stdout: string | undefined;
  readonly stderr: string | undefined;
  readonly exitCode: number | undefined;

  constructor(kind: FailureKind, message: string, options: PluginErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PluginError';
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.result = options.result;
    this.stdout = options.stdout;
    this.stderr = options.stderr;
    this.exitCode = options.exitCode;
  }
}

/** Checks the name, not the class: a plugin's package may have its own copy of this module. */
export function isPluginError(error: unknown): error is PluginError {
  if (error instanceof PluginError) return true;
  return (
    error instanceof Error &&
    error.name === 'PluginError' &&
    'kind' in error &&
    failureKinds.some((kind) => kind === error.kind)
  );
}

/** A program ended, hung, or gave no readable answer: a fault of the plugin, like an error that it throws. */
export class ProgramFault extends Error {
  override readonly name = 'ProgramFault';
  /** Whether it did not answer within the time limit of its call. */
  readonly hung: boolean;

  constructor(message: string, { hung = false }: { readonly hung?: boolean } = {}) {
    super(message);
    this.hung = hung;
  }
}
