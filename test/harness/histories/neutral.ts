import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Payload } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { bindingIn, EncryptionCodec, sealPayload } from '../../../src/secrets/codec.js';
import type { KeyRing } from '../../../src/secrets/keys.js';

type History = Parameters<typeof historyToJSON>[0];

export interface Recording {
  /** What the history was written with, and in which namespace. */
  readonly keyRing: KeyRing;
  readonly namespace: string;
  /** What it is encrypted with in the repository; replays take it to be of the namespace `default`. */
  readonly testKeys: KeyRing;
  /** A folder of the recording, which must not show. */
  readonly folder: string;
}

const root = join(import.meta.dirname, '..', '..', '..');

/**
 * A history as JSON that tells nothing of where it was recorded: no hosts, processes or folders, inside of
 * payloads neither.
 */
export async function neutralHistory(
  history: History,
  { keyRing, namespace, testKeys, folder }: Recording,
): Promise<string> {
  const from = new EncryptionCodec({ keyRing, namespace });
  const neutral = (text: string): string =>
    text
      .replaceAll(folder, '/tmp/recording')
      .replaceAll(root, '/heddle')
      .replaceAll(process.execPath, '/usr/bin/node')
      .replaceAll(new RegExp(`\\d+@${hostname().replaceAll('.', '\\.')}`, 'g'), '1@worker');

  async function recode(payload: Written): Promise<Written> {
    // Search attributes are in plaintext, for the server reads them.
    if (payload.metadata['encoding'] !== encrypted) return payload;
    const sealed = fromWritten(payload);
    const [plain] = await from.decode([sealed]);
    if (plain === undefined) throw new Error('a codec gave no payload back');
    const data = Buffer.from(neutral(Buffer.from(plain.data ?? []).toString('utf8')));
    // The payload stays bound to its workflow.
    return toWritten(
      sealPayload(
        { ...plain, data },
        { key: testKeys.current(), namespace: 'default', binding: bindingIn(sealed) },
      ),
    );
  }
  async function walk(value: unknown): Promise<unknown> {
    if (typeof value === 'string') return neutral(value);
    if (Array.isArray(value)) return Promise.all(value.map(walk));
    if (typeof value !== 'object' || value === null) return value;
    if (isWritten(value)) return recode(value);
    return Object.fromEntries(
      await Promise.all(
        Object.entries(value).map(async ([key, entry]): Promise<[string, unknown]> => [
          key,
          await walk(entry),
        ]),
      ),
    );
  }
  return `${JSON.stringify(await walk(JSON.parse(historyToJSON(history))))}\n`;
}

const encrypted = Buffer.from('binary/encrypted').toString('base64');

/** A payload in protobuf's JSON: bytes in base64. */
interface Written {
  readonly metadata: Readonly<Record<string, string>>;
  readonly data?: string;
}

function isWritten(value: object): value is Written {
  return (
    'metadata' in value &&
    typeof value.metadata === 'object' &&
    value.metadata !== null &&
    'encoding' in value.metadata
  );
}

function fromWritten({ metadata, data = '' }: Written): Payload {
  return {
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([key, text]) => [key, Buffer.from(text, 'base64')]),
    ),
    data: Buffer.from(data, 'base64'),
  };
}

function toWritten({ metadata, data }: Payload): Written {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
  return {
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([key, bytes]) => [key, text(bytes)])),
    data: text(data ?? new Uint8Array()),
  };
}
