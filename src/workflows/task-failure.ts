import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import { cutText } from '../model/carried.js';
import type { AnyAction } from '../model/action.js';
import type { EngineKind, FailureDetails, FailureRecord, UnsentCall } from '../model/node/failure.js';
import type { JsonObject } from '../model/json.js';

export interface TaskFailure {
  readonly record: FailureRecord;
  /** What the failed attempt still knows of the machine. */
  readonly result: JsonObject;
  readonly madeNothing: boolean;
  readonly unsent?: UnsentCall;
}

/** In bytes of JSON: plugins and nodes choose these texts, and workflows carry them. */
const longestMessage = 4_000;
const longestOutput = 4_000;
const longestRemedy = 500;

/** Locks what a failed activity threw into the record that state and status keep. */
export function readTaskFailure(
  error: unknown,
  task: { readonly taskId: string; readonly action: AnyAction; readonly service?: string },
  at: string,
): TaskFailure {
  const { cause, timedOut } = unwrap(error);
  const details = detailsOf(cause);
  const kind = timedOut === undefined ? kindOf(cause) : ('Timeout' satisfies EngineKind);
  const said = cause instanceof Error ? cause.message : String(cause);
  const message =
    timedOut === undefined ? said : `${timedOut}${said === '' ? '' : `; the last attempt said: ${said}`}`;
  const { result = {}, stdout, stderr, remedy, madeNothing = false, unsent, ...rest } = details;
  const { taskId, action, service } = task;
  const record: FailureRecord = {
    taskId,
    action,
    service,
    kind,
    message: cutText(message, longestMessage),
    ...rest,
    ...(remedy === undefined ? {} : { remedy: cutText(remedy, longestRemedy) }),
    ...(stdout === undefined ? {} : { stdout: cutText(stdout, longestOutput) }),
    ...(stderr === undefined ? {} : { stderr: cutText(stderr, longestOutput) }),
    at,
  };
  return { record, result, madeNothing, ...(unsent === undefined ? {} : { unsent }) };
}

function unwrap(error: unknown): { readonly cause: unknown; readonly timedOut?: string } {
  const inner = error instanceof ActivityFailure ? error.cause : error;
  if (!(inner instanceof TimeoutFailure)) return { cause: inner };
  return {
    cause: inner.cause ?? new Error(''),
    timedOut: timeoutTexts[inner.timeoutType ?? ''] ?? `an attempt timed out (${inner.timeoutType})`,
  };
}

/**
 * The wait for a worker is limited by the total time too, so either timeout means that the total time is
 * over.
 */
const timeoutTexts: Readonly<Record<string, string>> = {
  SCHEDULE_TO_CLOSE: 'it was not done within its time limit',
  SCHEDULE_TO_START: 'no worker was free for it within its time limit',
};

function kindOf(cause: unknown): string {
  return cause instanceof ApplicationFailure && typeof cause.type === 'string'
    ? cause.type
    : ('Internal' satisfies EngineKind);
}

function detailsOf(cause: unknown): FailureDetails {
  if (!(cause instanceof ApplicationFailure)) return {};
  const first: unknown = cause.details?.[0];
  return typeof first === 'object' && first !== null ? first : {};
}
