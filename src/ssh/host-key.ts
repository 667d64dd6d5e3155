import { createHash, timingSafeEqual } from 'node:crypto';

/** `SHA256:…`, as OpenSSH prints it. */
export function fingerprint(key: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}

/** The raw key of a `<type> <base64> [comment]` line; undefined when the line is not such a key. */
export function parseHostKey(line: string): Buffer | undefined {
  const [type, base64] = line.trim().split(/\s+/);
  if (type === undefined || base64 === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  const key = Buffer.from(base64, 'base64');
  return key.toString('base64').replace(/=+$/, '') === base64.replace(/=+$/, '') && typeOf(key) === type
    ? key
    : undefined;
}

/** A raw key as a known_hosts line without the host: `<type> <base64>`. Undefined when it is not a key. */
export function formatHostKey(key: Buffer): string | undefined {
  const type = typeOf(key);
  return type === undefined ? undefined : `${type} ${key.toString('base64')}`;
}

export interface HostKeyVerifier {
  /**
   * Handed to ssh2, which takes every answer but exactly `false` for a yes, promises included. So it is
   * synchronous and returns `true` or `false`, nothing else.
   */
  readonly verify: (key: Buffer) => boolean;
  /** What the server showed last. */
  readonly presented: () => Buffer | undefined;
}

/** Accepts the expected keys, byte for byte. An empty or unreadable list accepts nothing. */
export function createVerifier(expected: readonly string[]): HostKeyVerifier {
  const keys = expected.map(parseHostKey).filter((key) => key !== undefined);
  return observe((key) => keys.some((one) => one.length === key.length && timingSafeEqual(one, key)));
}

/**
 * Accepts any well-formed key, for the first contact with a node whose key is unknown; the caller pins what
 * it sees.
 */
export function createPinningVerifier(): HostKeyVerifier {
  return observe((key) => typeOf(key) !== undefined);
}

function observe(accepts: (key: Buffer) => boolean): HostKeyVerifier {
  let seen: Buffer | undefined;
  return {
    verify: (key) => {
      if (!Buffer.isBuffer(key)) return false;
      // ssh2 may use its buffer again.
      seen = Buffer.from(key);
      return accepts(seen);
    },
    presented: () => seen,
  };
}

function typeOf(key: Buffer): string | undefined {
  if (key.length < 4) return undefined;
  const length = key.readUInt32BE(0);
  if (length === 0 || length > 64 || key.length <= 4 + length) return undefined;
  const type = key.toString('latin1', 4, 4 + length);
  return /^[a-z0-9@.-]+$/.test(type) ? type : undefined;
}
