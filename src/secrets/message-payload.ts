import { randomUUID } from 'node:crypto';
import type { Payload } from '@temporalio/common';
import { isEnvelope, validMs, type Envelope } from '../model/messages/envelope.js';
import type { Seal } from '../model/messages/seal.js';

/**
 * Wraps the single argument of a message in an envelope of limited validity, which a workflow accepts once.
 * An existing envelope keeps its purpose, arguments and receiver.
 * @param now ms since the epoch.
 * @throws TypeError for a payload that is not JSON.
 */
export function wrapMessage(payload: Payload, now: number): Payload {
  const value = readJson(payload);
  const seal: Seal = { id: randomUUID(), until: now + validMs };
  const envelope: Envelope = isEnvelope(value)
    ? { heddle: value.heddle, args: value.args, ...(value.to === undefined ? {} : { to: value.to }), ...seal }
    : { heddle: '*', args: [value], ...seal };
  return jsonPayload(envelope);
}

/** Unwraps an envelope with one argument, for users. Returns any other payload unchanged. */
export function unwrapMessage(payload: Payload): Payload {
  if (encodingOf(payload) !== 'json/plain') return payload;
  let value: unknown;
  try {
    value = readJson(payload);
  } catch {
    return payload;
  }
  // An argument that is itself an envelope would be ambiguous.
  if (!isEnvelope(value) || value.args.length !== 1 || isEnvelope(value.args[0])) return payload;
  return jsonPayload(value.args[0]);
}

function readJson(payload: Payload): unknown {
  const encoding = encodingOf(payload);
  if (encoding === 'binary/null') return null;
  const refused = `only JSON messages can be encrypted; the encoding is '${encoding}'`;
  if (encoding !== 'json/plain') throw new TypeError(refused);
  try {
    return JSON.parse(Buffer.from(payload.data ?? []).toString('utf8'));
  } catch (cause) {
    throw new TypeError('the message is not JSON', { cause });
  }
}

function encodingOf({ metadata }: Payload): string {
  return Buffer.from(metadata?.['encoding'] ?? []).toString('utf8');
}

function jsonPayload(value: unknown): Payload {
  return { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) };
}
