import { isJsonObject, type Json, type JsonObject } from '../json.js';

/** Largest result of one task and largest payload of one node, in bytes of their JSON. */
export const maxResultBytes = 8 * 1024;
export const maxPayloadBytes = 16 * 1024;

/**
 * Merges a result into a payload by RFC 7396: objects deeply, null deletes, all else replaces. Neither is
 * changed.
 */
export function mergePayload(payload: JsonObject, result: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...payload };
  for (const [key, value] of Object.entries(result)) {
    if (value === null) {
      delete merged[key];
      continue;
    }
    const before = merged[key];
    merged[key] = isJsonObject(value) ? mergePayload(isJsonObject(before) ? before : {}, value) : value;
  }
  return merged;
}

/** JSON with keys in order, so that equal values give equal text. */
export function stableJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item: Json) => stableJson(item)).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const entries = Object.keys(value)
    .toSorted()
    .flatMap((key) => {
      const item = value[key];
      return item === undefined ? [] : [`${JSON.stringify(key)}:${stableJson(item)}`];
    });
  return `{${entries.join(',')}}`;
}
