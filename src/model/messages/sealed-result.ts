/**
 * The result of an activity with the call that it answers and the time of its end, in ms since
 * the epoch. The worker puts every result into one, so what a plugin returns stays inside.
 */
export interface SealedResult {
  readonly heddleAt: number;
  readonly heddleCall: string;
  readonly result?: unknown;
}

/** A result without a time, of a worker without Heddle's interceptors, is from time 0 and answers no call. */
export function readSealedResult(value: unknown): {
  readonly at: number;
  readonly call?: string;
  readonly result: unknown;
} {
  if (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, 'heddleAt') &&
    typeof (value as SealedResult).heddleAt === 'number'
  ) {
    const { heddleAt, heddleCall, result } = value as SealedResult;
    return { at: heddleAt, call: heddleCall, result };
  }
  return { at: 0, result: value };
}
