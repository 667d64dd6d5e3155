/**
 * What a worker's codec puts in the place of a payload that must not be used, or whose key it does not have.
 * Without it the workflow task would fail and be repeated for ever.
 */
export interface Refusal {
  /** Names the refused message and how to send it instead. */
  readonly heddleRefused: string;
  /** The id of the key, if only the key is missing. */
  readonly unknownKey?: string;
}

export function isRefusal(value: unknown): value is Refusal {
  return (
    typeof value === 'object' &&
    value !== null &&
    'heddleRefused' in value &&
    typeof value.heddleRefused === 'string'
  );
}

/** The text of a refused value; undefined when the value may be used. */
export function readRefusal(value: unknown): string | undefined {
  return isRefusal(value) ? value.heddleRefused : undefined;
}
