import { createHash } from 'node:crypto';
import type { Json } from '../model/json.js';
import { stableJson } from '../model/node/payload.js';

/** Of the value as JSON, whatever the order of its keys: 16 hexadecimal digits of the SHA-256. */
export function digestOf(value: Json): string {
  return createHash('sha256').update(stableJson(value)).digest('hex').slice(0, 16);
}
