import { createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto';
import { PluginError } from '../errors.js';

/** An SSH host key for a machine before its creation. */
export interface HostKey {
  /** `ssh-ed25519 <base64>`, as in known_hosts. */
  readonly public: string;
  /** In OpenSSH's format, for the machine only. */
  readonly private: string;
}

/** Shorter secrets could be guessed, and with them the host keys. */
const shortestSecret = 24;

/** The prefix of the 32 bytes of an Ed25519 key in PKCS #8. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * The host key of a machine, derived from the account's secret and the machine's key: every attempt of
 * CREATE, on any worker, requests the same machine, as client tokens require.
 * @throws PluginError Invalid if the secret is too short.
 */
export function makeHostKey(secret: string, key: string): HostKey {
  if (secret.length < shortestSecret)
    throw new PluginError(
      'Invalid',
      `hostKeySecret is too short: it must have at least ${shortestSecret} random characters, such as the output of: openssl rand -hex 32`,
    );
  const seed = Buffer.from(hkdfSync('sha256', secret, 'heddle host key', key, 32));
  const { x = '' } = createPublicKey(
    createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: 'der', type: 'pkcs8' }),
  ).export({ format: 'jwk' });
  const point = Buffer.from(x, 'base64url');
  const blob = Buffer.concat([field('ssh-ed25519'), field(point)]);
  return { public: `ssh-ed25519 ${blob.toString('base64')}`, private: toOpenSsh(seed, point, blob) };
}

/** OpenSSH reads Ed25519 keys only in its own format: "openssh-key-v1", here without a passphrase. */
function toOpenSsh(seed: Buffer, point: Buffer, blob: Buffer): string {
  // Twice the same number, derived from the public key instead of random, so that the same key gives the same
  // file.
  const check = point.subarray(0, 4);
  const inner = Buffer.concat([
    check,
    check,
    field('ssh-ed25519'),
    field(point),
    field(Buffer.concat([seed, point])),
    field('heddle'),
  ]);
  const padding = Buffer.from(Array.from({ length: (8 - (inner.length % 8)) % 8 }, (_, index) => index + 1));
  const one = Buffer.from([0, 0, 0, 1]);
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    one,
    field(blob),
    field(Buffer.concat([inner, padding])),
  ]);
  const lines = whole.toString('base64').match(/.{1,70}/g) ?? [];
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`;
}

function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
