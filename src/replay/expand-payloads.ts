import proto from '@temporalio/proto';
import { patchProtobufRoot } from '@temporalio/proto/lib/patch-protobuf-root.js';
import type { Field, Root, Type } from 'protobufjs';

/**
 * Expands abbreviated payloads of an event. The server's HTTP interface writes `["text", 1]` for
 * `{"payloads": [{"metadata": …, "data": …}]}`, and the decoding Web UI `{"payloads": ["text", 1]}`; the
 * message types tell which fields are payloads.
 */
export function expandPayloads(event: unknown): unknown {
  return expand(event, eventType);
}

const root = patchProtobufRoot(proto as unknown as Record<string, unknown>) as unknown as Root;
const eventType = root.lookupType('temporal.api.history.v1.HistoryEvent');
const payloadName = '.temporal.api.common.v1.Payload';
const payloadsName = '.temporal.api.common.v1.Payloads';

function expand(value: unknown, type: Type): unknown {
  if (type.fullName === payloadName) return expandPayload(value);
  if (type.fullName === payloadsName && Array.isArray(value)) return { payloads: value.map(expandPayload) };
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, expandField(entry, type.fields[key])]),
  );
}

function expandField(value: unknown, field: Field | undefined): unknown {
  if (field === undefined || value === null) return value;
  const { resolvedType } = field.resolve();
  // Enumerations have no fields.
  if (resolvedType === null || !('fields' in resolvedType)) return value;
  if (field.map && isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, expand(entry, resolvedType)]),
    );
  if (field.repeated && Array.isArray(value)) return value.map((entry) => expand(entry, resolvedType));
  return expand(value, resolvedType);
}

/** A value in the place of a payload: plain JSON, null, or a message with its type's name. */
function expandPayload(value: unknown): unknown {
  if (isRecord(value) && isRecord(value.metadata)) return value;
  if (value === null || value === undefined) return { metadata: { encoding: base64('binary/null') } };
  if (isRecord(value) && typeof value._protoMessageType === 'string') {
    const { _protoMessageType: messageType, ...message } = value;
    return {
      metadata: { encoding: base64('json/protobuf'), messageType: base64(messageType) },
      data: base64(JSON.stringify(message)),
    };
  }
  return { metadata: { encoding: base64('json/plain') }, data: base64(JSON.stringify(value)) };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
