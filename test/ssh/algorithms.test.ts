import type { CipherAlgorithm, KexAlgorithm, MacAlgorithm, ServerHostKeyAlgorithm } from 'ssh2';
import { afterEach, expect, test } from 'vitest';
import { algorithmsFor } from '../../src/ssh/algorithms.js';
import { probe } from '../../src/ssh/probe.js';
import { makeHostKey, startNode, type TestNode } from '../harness/ssh-server.js';

let node: TestNode | undefined;
afterEach(async () => node?.close());

const rsa = makeHostKey('rsa');

test('offers neither SHA-1 nor CBC, compression, DSA, nor algorithms open to Terrapin', () => {
  const text = JSON.stringify(algorithmsFor([]));
  expect(text).not.toMatch(/sha1|cbc|zlib|ssh-rsa|dss|chacha20|arcfour|md5|group1-|group14-sha1|blowfish/);
  expect(algorithmsFor([]).compress).toEqual(['none']);
});

test("requests the pinned key's own algorithm first", () => {
  expect(algorithmsFor([`ssh-rsa ${rsa.line.split(' ')[1]}`]).serverHostKey).toEqual([
    'rsa-sha2-512',
    'rsa-sha2-256',
    'ssh-ed25519',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
  ]);
});

const weakKex: KexAlgorithm[] = ['diffie-hellman-group14-sha1', 'diffie-hellman-group1-sha1'];
const weakCiphers: CipherAlgorithm[] = ['aes256-cbc', 'aes128-cbc', '3des-cbc'];
const weakMacs: MacAlgorithm[] = ['hmac-sha1', 'hmac-md5'];
const weakHostKeys: ServerHostKeyAlgorithm[] = ['ssh-rsa'];

test.each([
  ['key exchange with SHA-1', { kex: weakKex }],
  ['CBC', { cipher: weakCiphers }],
  [
    'chacha20, which is open to prefix truncation',
    { cipher: ['chacha20-poly1305@openssh.com'] satisfies CipherAlgorithm[] },
  ],
  ['MACs of SHA-1 and MD5', { cipher: ['aes128-ctr'] satisfies CipherAlgorithm[], hmac: weakMacs }],
  ['host keys signed with SHA-1', { serverHostKey: weakHostKeys }],
  ['compression as a must', { compress: ['zlib@openssh.com'] satisfies ['zlib@openssh.com'] }],
])('finds no common algorithm with a server that supports only %s', async (_name, algorithms) => {
  node = await startNode({ hostKeys: [rsa.private], algorithms });
  await expect(probe(node.target)).rejects.toMatchObject({
    kind: 'Invalid',
    message: expect.stringContaining('no algorithm that is accepted here'),
  });
});

test('logs in with an RSA key by SHA-2', async () => {
  node = await startNode();
  const { password: _, ...target } = node.target;
  await expect(probe({ ...target, privateKey: rsa.private })).resolves.toMatchObject({
    hostKey: node.target.hostKey,
  });
});

test.each([
  [
    'is refused where it knows only what such a server lets others cut',
    'chacha20-poly1305@openssh.com',
    'Invalid',
  ],
  ['is fine with a cipher that nothing can be cut out of', 'aes128-gcm@openssh.com', undefined],
] as const)('a server without strict key exchange %s', async (_name, cipher, kind) => {
  node = await startNode({ withoutStrict: true, algorithms: { cipher: [cipher] } });
  const looking = probe(node.target);
  if (kind === undefined) await expect(looking).resolves.toMatchObject({ hostKey: node.target.hostKey });
  else await expect(looking).rejects.toMatchObject({ kind });
  expect(node.offeredStrict()).toBe(false);
});

test('a server offers strict key exchange by default, so the other case is a server without it', async () => {
  node = await startNode();
  await probe(node.target);
  expect(node.offeredStrict()).toBe(true);
});
