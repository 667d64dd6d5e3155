import { CancelledFailure, CompleteAsyncError } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { AnyAction } from '../model/action.js';
import type { RetryRow } from '../model/activities.js';
import { handedOver, type EngineKind, type FailureDetails, type Loss } from '../model/node/failure.js';
import { isPluginError, ProgramFault, type FailureKind } from '../plugins/errors.js';
import { acceptFailure } from '../schema/accept-result.js';
import type { Attempt } from './attempt.js';
import { announceReplaced } from './tail.js';

/** The machine of a task no longer runs, as its provider says: a retry cannot reach it. */
export class MachineLost extends Error {
  override readonly name = 'MachineLost';
  readonly lost: Loss;

  constructor(lost: Loss, cause: Error) {
    super(`${lost.why}: ${cause.message}`, { cause });
    this.lost = lost;
  }
}

/** The one place that decides what Temporal tries again. */
const retryable: readonly FailureKind[] = ['Retryable', 'NotReady'];

/** How programs report a disk that is full, or a quota, wherever they write to. */
const fullDisk = /No space left on device|Disk quota exceeded/;

/** Consecutive faults of a plugin at which the task fails; a hang takes as long as the call may take. */
const faultLimit = 3;
const hangLimit = 2;

/** Longest wait, in ms, that a provider's Retry-After can ask for. */
const maxRetryAfterMs = 5 * 60_000;

/**
 * Converts whatever an attempt threw into the failure that the workflow reads. The failure itself carries the
 * retry delay and whether it is permanent. An attempt that died with its worker is repeated at once and does
 * not count.
 * @param action its result table says which keys the failure may leave in the payload; without it, none.
 */
export function toFailure(error: unknown, attempt: Attempt, retry: RetryRow, action?: AnyAction): Error {
  if (
    error instanceof CancelledFailure ||
    error instanceof CompleteAsyncError ||
    error instanceof ApplicationFailure
  )
    return error;
  if (attempt.signal.aborted) return new CancelledFailure('CANCELLED');
  // Another attempt continues the work on the node or at the provider.
  if (attempt.detach.aborted) return handOver(attempt.title);
  const message = `${attempt.title}: ${attempt.redact(messageOf(error))}`;
  if (error instanceof MachineLost) {
    return ApplicationFailure.create({
      message,
      type: 'MachineLost' satisfies EngineKind,
      nonRetryable: true,
      ...causeOf(error.cause, attempt),
      details: [
        {
          ...detailsOf(attempt),
          lost: { ...error.lost, why: attempt.redact(error.lost.why) },
        } satisfies FailureDetails,
      ],
    });
  }
  const faults = attempt.countFaults(!isPluginError(error));
  if (!isPluginError(error)) {
    // A fault in a plugin or in Heddle: its message may hold anything, so it is tried again only a few times.
    return ApplicationFailure.create({
      message,
      type: 'Internal' satisfies EngineKind,
      nonRetryable: faults >= (error instanceof ProgramFault && error.hung ? hangLimit : faultLimit),
      nextRetryDelay: delayOf(attempt, retry),
      ...causeOf(error, attempt),
      details: [detailsOf(attempt)],
    });
  }
  const { kind, retryAfterMs, exitCode, stdout = '', stderr = '' } = error;
  const full = fullDisk.exec(exitCode === undefined ? '' : `${stderr}\n${stdout}`)?.[0];
  const result = action === undefined ? undefined : acceptFailure(error.result, action);
  const details: FailureDetails = {
    ...detailsOf(attempt),
    ...(error.stdout === undefined ? {} : { stdout: endOf(attempt.redact(error.stdout)) }),
    ...(error.stderr === undefined ? {} : { stderr: endOf(attempt.redact(error.stderr)) }),
    ...(result === undefined ? {} : { result }),
    ...(error.exitCode === undefined ? {} : { exitCode: error.exitCode }),
    ...(error.remedy === undefined ? {} : { remedy: attempt.redact(error.remedy) }),
  };
  return ApplicationFailure.create({
    message: full === undefined ? message : `${message}; a disk is full, according to its output: ${full}`,
    type: kind,
    nonRetryable: !retryable.includes(kind) || attempt.number >= (retry.attempts ?? Infinity),
    details: [details],
    ...causeOf(error.cause, attempt),
    nextRetryDelay:
      retryAfterMs === undefined
        ? delayOf(attempt, retry)
        : Math.min(Math.max(retryAfterMs, 100), maxRetryAfterMs),
    // Not ready yet is not an error, so Temporal logs no warning.
    ...(kind === 'NotReady' ? { category: 'BENIGN' as const } : {}),
  });
}

/** Of an attempt that ends with its worker. It is not an error, so Temporal logs no warning. */
export function handOver(title: string): ApplicationFailure {
  return ApplicationFailure.create({
    message: `${title}: handed over to the next attempt`,
    type: handedOver,
    nextRetryDelay: 100,
    category: 'BENIGN',
  });
}

/** Doubles with each attempt, and differs by a fifth, so that many do not come back in the same moment. */
function delayOf({ number }: Attempt, { initialMs, maximumMs }: RetryRow): number {
  return Math.round(Math.min(initialMs * 2 ** (number - 1), maximumMs) * (0.8 + Math.random() * 0.4));
}

function detailsOf(attempt: Attempt): FailureDetails {
  return { ...attempt.output.tails(), log: attempt.output.name };
}

function endOf(output: string): string {
  const end = output.slice(-2_048);
  return end.includes('\uFFFD') ? announceReplaced(end) : end;
}

function causeOf(cause: unknown, attempt: Attempt): { readonly cause?: Error } {
  if (!(cause instanceof Error)) return {};
  const plain = new Error(attempt.redact(messageOf(cause)));
  plain.name = cause.name;
  plain.stack = attempt.redact(cause.stack ?? '');
  return { cause: plain };
}

function messageOf(error: unknown): string {
  return error instanceof Error
    ? error.message
    : `threw ${typeof error === 'string' ? `"${error}"` : String(error)}`;
}
