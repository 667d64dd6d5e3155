import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

/** A key that encrypts payloads. KeyObject hides its bytes from logs and dumps. */
export interface Key {
  readonly id: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly secret: KeyObject;
}

/** All keys that decrypt, and the one that encrypts. */
export interface KeyDocument {
  readonly current: string;
  readonly keys: readonly Key[];
}

type KeyErrorCode = 'Invalid' | 'Encryption';

/**
 * A key ring that is unreadable, malformed, accessible to others, or lacks a key. The message names the
 * remedy.
 */
export class KeyError extends Error {
  override readonly name: string = 'KeyError';
  /** `Invalid`: the keys, their folder or a given ID are wrong. `Encryption`: keys are missing or in the way. */
  readonly code: KeyErrorCode;
  /** The next command, if it is a particular one. */
  readonly next: string | undefined;

  constructor(
    message: string,
    {
      code = 'Invalid',
      next,
      ...cause
    }: ErrorOptions & { readonly code?: KeyErrorCode; readonly next?: string } = {},
  ) {
    super(message, cause);
    this.code = code;
    this.next = next;
  }
}

/** A key that another machine has and this one needs, or all of them. */
export class MissingKeyError extends KeyError {
  override readonly name = 'MissingKeyError';

  constructor(message: string, cause: ErrorOptions = {}) {
    super(message, { ...cause, code: 'Encryption' });
  }
}

const keyBytes = 32;
const idPattern = /^[a-z0-9][a-z0-9-]{0,31}$/;

export function isKeyId(text: string): boolean {
  return idPattern.test(text);
}

export function generateKey(): Key {
  return {
    id: `k${randomBytes(4).toString('hex')}`,
    createdAt: new Date().toISOString(),
    secret: createSecretKey(randomBytes(keyBytes)),
  };
}

/** One line of JSON: the format of the file, of exports and of HEDDLE_KEYS. */
export function formatKeys(document: KeyDocument): string {
  const keys = document.keys.map(({ id, createdAt, secret }) => ({
    id,
    createdAt,
    key: secret.export().toString('base64'),
  }));
  return `${JSON.stringify({ version: 1, current: document.current, keys })}\n`;
}

/** @param source names the text in errors, which never quote it. @throws KeyError */
export function parseKeys(text: string, source: string): KeyDocument {
  const fault = (what: string): KeyError =>
    new KeyError(
      `${source}: ${what}. Expected the output of 'heddle keys export': {"version":1,"current":ID,"keys":[{"id","createdAt","key"}]}`,
    );
  const document = parseJson(text);
  if (!isRecord(document)) throw fault('is not a JSON object');
  if (document.version !== 1) throw fault('has an unknown version; it may be from a newer version of Heddle');
  if (!Array.isArray(document.keys) || document.keys.length === 0) throw fault('contains no keys');
  const keys = document.keys.map((entry: unknown, index) => parseKey(entry, `keys[${index}]`, fault));
  const ids = new Set(keys.map((key) => key.id));
  if (ids.size < keys.length) throw fault('contains two keys with the same ID');
  const { current } = document;
  if (typeof current !== 'string' || !ids.has(current))
    throw fault('names a current key that it does not contain');
  return { current, keys };
}

/** Merges two rings; keeps `current`. @throws KeyError if they contain different keys with the same ID. */
export function mergeKeys(own: KeyDocument, added: KeyDocument, source: string): KeyDocument {
  const known = new Map(own.keys.map((key) => [key.id, key]));
  const fresh = added.keys.filter((key) => {
    const same = known.get(key.id);
    if (same !== undefined && !same.secret.equals(key.secret)) {
      throw new KeyError(
        `${source}: key ${key.id} differs from the existing key with the same ID. Nothing was imported. ` +
          'One of the two rings belongs to another installation: keep them in separate data folders.',
      );
    }
    return same === undefined;
  });
  return { current: own.current, keys: [...own.keys, ...fresh] };
}

function parseKey(entry: unknown, place: string, fault: (what: string) => KeyError): Key {
  if (!isRecord(entry)) throw fault(`${place} is not an object`);
  const { id, createdAt, key } = entry;
  if (typeof id !== 'string' || !isKeyId(id))
    throw fault(`${place}.id is not a valid ID: use a-z, 0-9 and -, at most 32 characters`);
  if (typeof createdAt !== 'string' || Number.isNaN(Date.parse(createdAt)))
    throw fault(`${place}.createdAt is not a date (RFC 3339)`);
  const bytes = typeof key === 'string' ? Buffer.from(key, 'base64') : Buffer.alloc(0);
  if (bytes.length !== keyBytes || bytes.toString('base64') !== key)
    throw fault(`${place}.key is not ${keyBytes} bytes in base64`);
  return { id, createdAt, secret: createSecretKey(bytes) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The parser's message would quote the text, which may contain keys.
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
