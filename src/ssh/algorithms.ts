import type { Algorithms, ServerHostKeyAlgorithm } from 'ssh2';

const hostKeyAlgorithms: readonly ServerHostKeyAlgorithm[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];

/**
 * What we offer. No SHA-1, no CBC, no compression, no DSA. chacha20-poly1305 is left out too: with it a
 * server without strict key exchange is open to prefix truncation (Terrapin), and ssh2 does not tell whether
 * strict was agreed.
 * @param expected the pinned keys: a server with several keys shows the one whose algorithm stands first, so
 * theirs do.
 */
export function algorithmsFor(expected: readonly string[]): Algorithms {
  return {
    kex: [
      'curve25519-sha256',
      'curve25519-sha256@libssh.org',
      'ecdh-sha2-nistp256',
      'ecdh-sha2-nistp384',
      'ecdh-sha2-nistp521',
      'diffie-hellman-group16-sha512',
      'diffie-hellman-group18-sha512',
    ],
    serverHostKey: orderHostKeys(expected),
    cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes256-ctr', 'aes192-ctr', 'aes128-ctr'],
    hmac: [
      'hmac-sha2-256-etm@openssh.com',
      'hmac-sha2-512-etm@openssh.com',
      'hmac-sha2-256',
      'hmac-sha2-512',
    ],
    compress: ['none'],
  };
}

function orderHostKeys(expected: readonly string[]): ServerHostKeyAlgorithm[] {
  const pinned = new Set(expected.map((line) => line.trim().split(/\s+/)[0]));
  const isPinned = (algorithm: ServerHostKeyAlgorithm) =>
    pinned.has(algorithm.startsWith('rsa-') ? 'ssh-rsa' : algorithm);
  return [
    ...hostKeyAlgorithms.filter(isPinned),
    ...hostKeyAlgorithms.filter((algorithm) => !isPinned(algorithm)),
  ];
}
