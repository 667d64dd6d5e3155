import type { Payload, SerializationContext } from '@temporalio/common';
import { readRefusal } from '../../src/model/messages/refusal.js';
import { EncryptionCodec, type EncryptionCodecOptions } from '../../src/secrets/codec.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { parseKeyRing, type KeyRing } from '../../src/secrets/keys.js';
import { fc } from '../harness/property.js';

export const ring = newRing();

const bytes = fc.uint8Array({ maxLength: 200 });
export const payloads: fc.Arbitrary<Payload> = fc.record({
  metadata: fc.dictionary(fc.string({ maxLength: 20 }), bytes),
  data: bytes,
});

export function codecFor(options: Partial<EncryptionCodecOptions> = {}): EncryptionCodec {
  return new EncryptionCodec({ keyRing: ring, namespace: 'default', ...options });
}

export function newRing(size = 1): KeyRing {
  const keys = Array.from({ length: size }, generateKey);
  return parseKeyRing(formatKeys({ current: keys[0]?.id ?? '', keys }), 'the test');
}

export function json(value: unknown): Payload {
  return { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) };
}

export function inNamespace(namespace: string): SerializationContext {
  return { type: 'workflow', namespace, workflowId: 'w' };
}

export function workflow(workflowId: string): SerializationContext {
  return { type: 'workflow', namespace: 'default', workflowId };
}

export function activity(workflowId: string, activityId: string): SerializationContext {
  return { type: 'activity', namespace: 'default', workflowId, activityId, isLocal: false };
}

/** A codec as workers have it: what it refuses is marked. */
export function worker(options: Partial<EncryptionCodecOptions> = {}): EncryptionCodec {
  return codecFor({ onRefused: 'mark', ...options });
}

/** The reason for which a worker refuses a payload; undefined when it accepts it. */
export async function refusalOf(
  payload: Payload | undefined,
  context?: SerializationContext,
  options: Partial<EncryptionCodecOptions> = {},
): Promise<string | undefined> {
  const [decoded] = await worker(options).decode(payload === undefined ? [] : [payload], context);
  return readRefusal(JSON.parse(Buffer.from(decoded?.data ?? []).toString()));
}
