import type { Payload } from '@temporalio/common';
import { PayloadRefusedError, type EncryptionCodec } from '../secrets/codec.js';
import { idOf, type History } from './read-history.js';

/** An encrypted payload and its event. */
interface Sealed {
  readonly payload: Payload;
  readonly event: number;
}

/** A payload without which the history cannot be replayed. */
export interface Unreadable {
  readonly event: number;
  readonly message: string;
}

/**
 * The first payload whose key is missing, or a payload of the start that does not decrypt because its
 * namespace differs. Workers refuse tampered payloads later on and continue, and so does a replay.
 */
export async function findUnreadable(
  history: History,
  codec: EncryptionCodec,
): Promise<Unreadable | undefined> {
  for (const { payload, event } of sealedOf(history)) {
    try {
      await codec.decode([payload]);
    } catch (error) {
      if (error instanceof PayloadRefusedError && event > 1) continue;
      return { event, message: error instanceof Error ? error.message : String(error) };
    }
  }
  return undefined;
}

/** The event with the first encrypted payload; undefined for a decoded export. */
export function firstSealed(history: History): number | undefined {
  for (const { event } of sealedOf(history)) return event;
  return undefined;
}

function* sealedOf({ events }: History): Generator<Sealed> {
  for (const event of events ?? []) {
    for (const payload of within(event)) yield { payload, event: idOf(event) };
  }
}

function* within(value: unknown): Generator<Payload> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if ('metadata' in value && isSealed(value.metadata)) {
    yield value as Payload;
    return;
  }
  for (const entry of Object.values(value)) yield* within(entry);
}

function isSealed(metadata: unknown): boolean {
  if (typeof metadata !== 'object' || metadata === null || !('encoding' in metadata)) return false;
  return (
    metadata.encoding instanceof Uint8Array &&
    Buffer.from(metadata.encoding).toString() === 'binary/encrypted'
  );
}
