import { generateKeyPairSync, randomBytes } from 'node:crypto';

const algorithm = 'ssh-ed25519';

export interface HostKey {
  /** "ssh-ed25519 AAAA…" */
  readonly public: string;
  /** OpenSSH's own form, which sshd and ssh2 both read. */
  readonly private: string;
}

/** Generates a host key. ssh2 1.17 cannot read one in a hundred of the ed25519 keys it generates itself. */
export function newHostKey(): HostKey {
  // As DER at once: exporting a key object can hang Node 20 when its memory is collected meanwhile.
  const pair = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  });
  const publicBytes = rawKeyOf(pair.publicKey);
  const publicBlob = Buffer.concat([field(algorithm), field(publicBytes)]);
  const check = randomBytes(4);
  const secret = Buffer.concat([
    check,
    check,
    field(algorithm),
    field(publicBytes),
    field(Buffer.concat([rawKeyOf(pair.privateKey), publicBytes])),
    field(''),
  ]);
  const padding = Buffer.from(Array.from({ length: (8 - (secret.length % 8)) % 8 }, (_, index) => index + 1));
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    number(1),
    field(publicBlob),
    field(Buffer.concat([secret, padding])),
  ]);
  const lines = whole.toString('base64').match(/.{1,70}/g) ?? [];
  return {
    public: `${algorithm} ${publicBlob.toString('base64')}`,
    private: ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join(
      '\n',
    ),
  };
}

/** Both encodings end with the key's 32 bytes (RFC 8410). */
function rawKeyOf(der: Buffer): Buffer {
  return der.subarray(-32);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}
