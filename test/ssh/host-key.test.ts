import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createVerifier, fingerprint, formatHostKey, parseHostKey } from '../../src/ssh/host-key.js';
import { createPool } from '../../src/ssh/pool.js';
import { probe } from '../../src/ssh/probe.js';
import { makeHostKey, publicLine, startNode, type TestNode } from '../harness/ssh-server.js';

const pinned = publicLine(makeHostKey().private);
const other = publicLine(makeHostKey().private);
const ecdsa = publicLine(makeHostKey('ecdsa').private);
const rawOf = (line: string): Buffer => parseHostKey(line) ?? Buffer.alloc(0);
const raw = rawOf(pinned);

describe('the verifier returns exactly true or false, synchronously', () => {
  // ssh2 takes every answer but `false` for a yes: a promise, undefined, null, 0 and an Error all let a
  // stranger in.
  test.each([
    ['the pinned key', [pinned], raw, true],
    ['the pinned key, with a comment', [`${pinned} root@node`], raw, true],
    ['one of several pinned keys', [other, ecdsa, pinned], raw, true],
    ['another key of the same type', [pinned], rawOf(other), false],
    ['a key of another type', [pinned], rawOf(ecdsa), false],
    ['the pinned key cut short', [pinned], raw.subarray(0, -1), false],
    ['the pinned key with more behind it', [pinned], Buffer.concat([raw, Buffer.of(0)]), false],
    ['an empty key', [pinned], Buffer.alloc(0), false],
    ['no pinned key at all', [], raw, false],
    ['pinned keys that cannot be read', ['ssh-ed25519', 'ssh-ed25519 !!!', '', 'ssh-rsa AAAA'], raw, false],
    ["a pinned key under another type's name", [pinned.replace('ssh-ed25519', 'ssh-rsa')], raw, false],
    ['an empty key, where an unreadable one is pinned', [''], Buffer.alloc(0), false],
  ])('%s', (_name, expected, key, answer) => {
    expect(createVerifier(expected).verify(key)).toBe(answer);
  });

  test('refuses invalid keys', () => {
    const verify: (key: never) => unknown = createVerifier([pinned]).verify;
    for (const odd of [undefined, null, 0, '', pinned, {}, [], Promise.resolve(raw)])
      expect(verify(odd as never)).toBe(false);
  });

  test('keeps its copy although ssh2 reuses its buffer', () => {
    const verifier = createVerifier([pinned]);
    const buffer = Buffer.from(raw);
    verifier.verify(buffer);
    buffer.fill(0);
    expect(verifier.presented()).toEqual(raw);
  });
});

test('a key survives formatting and parsing', () => {
  expect(formatHostKey(raw)).toBe(pinned);
  expect(fingerprint(raw)).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
});

describe('against a server', () => {
  const key = makeHostKey();
  const rsa = makeHostKey('rsa');
  let node: TestNode;
  beforeAll(async () => {
    node = await startNode({ hostKeys: [key.private, rsa.private] });
  });
  afterAll(() => node.close());

  test('a probe without a pinned key returns the key to be pinned', async () => {
    const { hostKey: _, ...unknown } = node.target;
    await expect(probe({ ...unknown, pinsWithPassword: true })).resolves.toMatchObject({
      hostKey: publicLine(key.private),
    });
  });

  test('a probe with the pinned key succeeds', async () => {
    await expect(probe(node.target)).resolves.toMatchObject({ hostKey: node.target.hostKey });
  });

  test('a server with several keys shows the pinned one', async () => {
    await expect(probe({ ...node.target, hostKey: publicLine(rsa.private) })).resolves.toMatchObject({
      hostKey: publicLine(rsa.private),
    });
  });

  test('another key is refused, with both fingerprints, before the password is sent', async () => {
    const before = node.connections.total;
    await expect(probe({ ...node.target, hostKey: pinned })).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringMatching(
        new RegExp(
          [fingerprint(rawOf(node.target.hostKey)), fingerprint(raw), 'possible man in the middle']
            .map((part) => part.replaceAll('+', '\\+'))
            .join('.*'),
        ),
      ),
    });
    expect(node.connections.total).toBe(before);
  });

  test.each([[undefined], [[]], [''], ['nonsense']])(
    'no connection is pooled with %j for a host key',
    async (hostKey) => {
      const pool = createPool();
      const { hostKey: _, ...unknown } = node.target;
      await expect(
        pool.acquire(hostKey === undefined ? unknown : { ...unknown, hostKey }),
      ).rejects.toMatchObject({ kind: 'Invalid' });
      await pool.closeAll();
    },
  );

  test('a pinned node that comes back with another key is refused', async () => {
    const reborn = await startNode({ hostKeys: [makeHostKey().private] });
    await expect(probe({ ...node.target, port: reborn.target.port })).rejects.toMatchObject({
      kind: 'Invalid',
    });
    await reborn.close();
  });
});
