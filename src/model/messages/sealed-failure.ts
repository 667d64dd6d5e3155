/**
 * The only detail of a failure that leaves an attempt of one of Heddle's activities. Anyone who may
 * call the server can fail an activity with any type and any payload that it has recorded. So a
 * failure counts only if this detail, which is encrypted, was made for the very call that failed.
 * Decisions are made by what is in it alone: causes are left out, and only the Web UI shows them.
 */
export interface SealedFailure {
  /** The call of the activity, as its workflow named it. */
  readonly heddleFailed: string;
  readonly type: string;
  readonly message: string;
  /** Whether the attempt said that no other one may follow. */
  readonly isFinal: boolean;
  /** The number of the attempt. */
  readonly attempt: number;
  /** The delay before the next attempt, in ms, that the attempt requested. */
  readonly retryAfterMs?: number;
  readonly details: readonly unknown[];
}

export function readSealedFailure(details: readonly unknown[] | undefined | null): SealedFailure | undefined {
  const [first] = details ?? [];
  return isSealed(first) ? first : undefined;
}

function isSealed(value: unknown): value is SealedFailure {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, 'heddleFailed') &&
    typeof (value as SealedFailure).heddleFailed === 'string' &&
    typeof (value as SealedFailure).type === 'string' &&
    typeof (value as SealedFailure).message === 'string' &&
    typeof (value as SealedFailure).isFinal === 'boolean' &&
    typeof (value as SealedFailure).attempt === 'number' &&
    Array.isArray((value as SealedFailure).details)
  );
}
