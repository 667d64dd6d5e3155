import type { JsonObject } from '../json.js';
import type { Drift } from './drift.js';

export type { FailureRecord } from '../../schema/output/operation.js';

/** A machine that does not run any more, as its provider shows it. */
export interface Loss {
  readonly seen: Extract<Drift, 'gone' | 'stopped'>;
  /** One line for people. */
  readonly why: string;
}

/**
 * The kind of an attempt's failure that ended with its worker, or was taken from it: the next
 * one continues its work.
 */
export const handedOver = 'HandedOver';

/** The kind of a failure after which the task may still run, or may have been done. */
export const unknownOutcome = 'UnknownOutcome';

/** The kind of the failure of a CREATE that was not sent: its workflow schedules it again. */
export const notSent = 'NotSent';

/**
 * The kind of a failure that is the image's, or its library's: nothing was done, and any other
 * machine would fail, too.
 */
export const imageUnusable = 'ImageUnusable';

/** The kind of an attempt's failure whose worker stopped sending heartbeats. */
export const workerLost = 'WorkerLost';

/** Kinds of failure that the engine adds to those of plugins. */
export const engineKinds = [
  'Timeout',
  'MachineLost',
  'PluginChanged',
  'Internal',
  'Cancelled',
  workerLost,
  handedOver,
  notSent,
] as const;
export type EngineKind = (typeof engineKinds)[number];

/** Details of a failed activity: the first detail of its ApplicationFailure. */
export interface FailureDetails {
  /** Only `providerid` and what names the machine. */
  readonly result?: JsonObject;
  readonly exitCode?: number;
  readonly lost?: Loss;
  readonly remedy?: string;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly log?: string;
  /**
   * Of CREATE at a provider that cannot be asked for its machine: this call made none, because
   * it was not sent or the provider refused it.
   */
  readonly madeNothing?: true;
  /** For NotSent. */
  readonly unsent?: UnsentCall;
}

/** Why a CREATE was not sent: the kind of the failure, and the delay before it is scheduled again, in ms. */
export interface UnsentCall {
  readonly kind: string;
  readonly againMs: number;
}
