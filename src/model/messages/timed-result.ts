/**
 * The result of an activity with the time of its end, in ms since the epoch. The worker puts every result into one, so
 * what a plugin returns stays inside.
 */
export interface TimedResult {
  readonly heddleAt: number;
  readonly result?: unknown;
}

export function withTime(at: number, result: unknown): TimedResult {
  return { heddleAt: at, result };
}

/** A result without a time, of a worker without Heddle's interceptors, is from time 0. */
export function readTimed(value: unknown): { readonly at: number; readonly result: unknown } {
  if (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, 'heddleAt') &&
    typeof (value as TimedResult).heddleAt === 'number'
  )
    return { at: (value as TimedResult).heddleAt, result: (value as TimedResult).result };
  return { at: 0, result: value };
}
