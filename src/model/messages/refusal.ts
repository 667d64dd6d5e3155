/**
 * What a worker's codec puts in the place of a payload that came in plaintext where encryption is required. A
 * workflow that finds it among its input or messages fails or rejects with this text; without it the workflow
 * task would hang.
 */
export interface Refusal {
  /** Names the refused message and how to send it instead. */
  readonly heddleRefused: string;
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
