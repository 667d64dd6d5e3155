import type { Payload } from '@temporalio/common';

/** A payload as Temporal's tools send it in JSON: bytes in base64. */
interface PayloadJson {
  readonly metadata: Readonly<Record<string, string>>;
  readonly data: string;
}

/**
 * The message of codec servers, `{"payloads": […]}`.
 * @throws TypeError with the problem.
 */
export function parsePayloads(body: unknown): Payload[] {
  if (!isRecord(body)) throw new TypeError('the body is not an object {"payloads": […]}');
  const { payloads = [] } = body;
  if (!Array.isArray(payloads)) throw new TypeError('payloads is not a list');
  return payloads.map((payload: unknown, index) => parsePayload(payload, `payloads[${index}]`));
}

/** Always writes both fields, because the Web UI recognises payloads by both. */
export function formatPayloads(payloads: readonly Payload[]): { readonly payloads: readonly PayloadJson[] } {
  return {
    payloads: payloads.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([key, value]) => [key, toBase64(value)]),
      ),
      data: toBase64(data ?? new Uint8Array()),
    })),
  };
}

function parsePayload(payload: unknown, place: string): Payload {
  if (!isRecord(payload)) throw new TypeError(`${place} is not an object`);
  // Other tools write null, or nothing, for empty values.
  const metadata = payload.metadata ?? {};
  if (!isRecord(metadata)) throw new TypeError(`${place}.metadata is not an object`);
  const entries = Object.entries(metadata).map(
    ([key, value]) => [key, fromBase64(value, `${place}.metadata.${key}`)] as const,
  );
  return { metadata: Object.fromEntries(entries), data: fromBase64(payload.data ?? '', `${place}.data`) };
}

function fromBase64(value: unknown, place: string): Uint8Array {
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(value))
    throw new TypeError(`${place} is not base64`);
  return Buffer.from(value, 'base64');
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
