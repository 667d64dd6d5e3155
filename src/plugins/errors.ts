import type { JsonObject } from '../model/json.js';

/**
 * Why a task failed, in the words the engine acts on.
 * - Retryable: a passing fault (5xx, 429, a lost connection); tried again with backoff.
 * - NotReady: nothing is wrong, it is not there yet; looked at again later.
 * - Capacity, Quota: the provider has none left, or grants no more.
 * - Auth, Invalid: no retry can help; a person must change something.
 * - UnknownOutcome: a change was sent and nobody can tell whether it happened.
 * - ScriptFailed: a script on the node ended with an exit code that is not accepted.
 */
export const failureKinds = [
  'Retryable',
  'NotReady',
  'Capacity',
  'Quota',
  'Auth',
  'Invalid',
  'UnknownOutcome',
  'ScriptFailed',
] as const;
export type FailureKind = (typeof failureKinds)[number];

export interface PluginErrorOptions {
  readonly cause?: unknown;
  /** Earliest time to try again, in ms from now (a provider's Retry-After). */
  readonly retryAfterMs?: number;
  /** What is known in spite of the failure; only `providerid` and what names the machine is kept. */
  readonly result?: JsonObject;
  readonly stdout?: string;
  readonly stderr?: string;
  /** Of the script, for ScriptFailed. */
  readonly exitCode?: number;
}

/**
 * What a plugin throws to fail a task. The message says what was attempted, what came back, and what a person
 * can do.
 */
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

/** By name, not by class: a plugin from a package of its own may have its own copy of this module. */
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
 * A plugin that runs as a program ended, hung or answered nothing that can be read: a fault of the plugin, as
 * an error it throws is.
 */
export class ProgramFault extends Error {
  override readonly name = 'ProgramFault';
}
