import type { JsonObject } from '../model/json.js';
import { imageUnusable, unknownOutcome } from '../model/node/failure.js';

/**
 * Kinds of failure, which determine the engine's reaction.
 * - Retryable: a transient fault (5xx, 429, a lost connection); retried with backoff.
 * - NotReady: not a fault; checked again later.
 * - Capacity, Quota: the provider has no capacity left, or the account's quota is exhausted.
 * - Auth, Invalid: a retry cannot help; a user must change something.
 * - MachineFailed: the machine was created and then failed, or is gone; it is replaced.
 * - ImageUnusable: the machine was not changed, because an image is missing or incomplete, or because
 *   something else is missing that a load needs on any machine.
 * - UnknownOutcome: a change was sent, and it is unknown whether it took effect.
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
  /** Exit code of the script, for ScriptFailed. */
  readonly exitCode?: number;
  /**
   * What a person must do before a retry can succeed: `correct the address of machine b1`. Shown as `next:`.
   */
  readonly remedy?: string;
}

/** Fails a task. The message states what was attempted, what came back, and what the user can do. */
export class PluginError extends Error {
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;
  readonly result: JsonObject | undefined;
  readonly stdout: string | undefined;
  readonly stderr: string | undefined;
  readonly exitCode: number | undefined;
  readonly remedy: string | undefined;

  constructor(kind: FailureKind, message: string, options: PluginErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PluginError';
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.result = options.result;
    this.stdout = options.stdout;
    this.stderr = options.stderr;
    this.exitCode = options.exitCode;
    this.remedy = options.remedy?.trim() === '' ? undefined : options.remedy;
  }
}

/** The failure with another message, or of another kind, and the original one as its cause. */
export function wrapError(error: PluginError, message: string, kind = error.kind): PluginError {
  const { retryAfterMs, result, stdout, stderr, exitCode, remedy } = error;
  return new PluginError(kind, message, {
    cause: error,
    retryAfterMs,
    result,
    stdout,
    stderr,
    exitCode,
    remedy,
  });
}

/** Checks the name instead of the class, because a plugin's package may have its own copy of this module. */
export function isPluginError(error: unknown): error is PluginError {
  if (error instanceof PluginError) return true;
  return (
    error instanceof Error &&
    error.name === 'PluginError' &&
    'kind' in error &&
    failureKinds.some((kind) => kind === error.kind)
  );
}

/**
 * A program ended, hung, or returned no readable result: a fault of the plugin, like an error that it throws.
 */
export class ProgramFault extends Error {
  override readonly name = 'ProgramFault';
  /** Whether it exceeded the time limit of its call. */
  readonly hung: boolean;

  constructor(message: string, { hung = false }: { readonly hung?: boolean } = {}) {
    super(message);
    this.hung = hung;
  }
}
