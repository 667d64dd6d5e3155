/** The header of a query that says how long the workflow's history was before the query was sent. */
export const historyLengthHeader = 'heddle-history-length';

interface HeaderPayload {
  readonly metadata?: Readonly<Record<string, Uint8Array>> | null;
  readonly data?: Uint8Array | null;
}

/** Not encrypted: it is a number that everybody sees who may send a query. */
export function headerOfLength(length: number): HeaderPayload {
  return { metadata: { encoding: bytesOf('json/plain') }, data: bytesOf(String(length)) };
}

/** The length in the headers of a query; 0 without one. */
export function lengthSeenBy(headers: Readonly<Record<string, HeaderPayload>>): number {
  const text = String.fromCharCode(...(headers[historyLengthHeader]?.data ?? []).slice(0, 20));
  return /^\d+$/.test(text) ? Number(text) : 0;
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
