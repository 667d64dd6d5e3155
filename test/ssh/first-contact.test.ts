import { afterEach, beforeEach, expect, test } from 'vitest';
import { probe } from '../../src/ssh/probe.js';
import type { SshTarget } from '../../src/ssh/target.js';
import { makeHostKey, startNode, type TestNode } from '../harness/ssh-server.js';

/** Answers on the address of a node before the node does, and takes whatever it is given. */
let impostor: TestNode;
beforeEach(async () => {
  impostor = await startNode({ hostKeys: [makeHostKey().private], password: 'the password of the account' });
});
afterEach(() => impostor.close());

function targetWith(credentials: Partial<SshTarget>): SshTarget {
  const { host, port, user } = impostor.target;
  return { host, port, user, ...credentials };
}

const password = 'the password of the account';
const { private: privateKey } = makeHostKey();

// Promise: password-known-host
test('a host whose key is not known never gets a password', async () => {
  await expect(probe(targetWith({ password }))).rejects.toMatchObject({
    kind: 'Invalid',
    message: expect.stringContaining('hostKeys: pin') as string,
  });
  expect(impostor.passwords).toEqual([]);
});

test('a host whose key is not known gets no password after it refused the private key', async () => {
  impostor.faults.refusesKeys = true;
  await expect(probe(targetWith({ password, privateKey }))).rejects.toMatchObject({ kind: 'Invalid' });
  expect(impostor.passwords).toEqual([]);
});

test('a host that shows another key than the known one gets no password', async () => {
  await expect(probe(targetWith({ password, hostKey: makeHostKey().line }))).rejects.toMatchObject({
    kind: 'Invalid',
    message: expect.stringContaining('shows host key') as string,
  });
  expect(impostor.passwords).toEqual([]);
});

test('a private key logs in to a host whose key is not known, and the key is pinned', async () => {
  const { hostKey } = impostor.target;
  expect(await probe(targetWith({ privateKey }))).toMatchObject({ hostKey });
});

test('an administrator may have the first key pinned with a password', async () => {
  expect(await probe(targetWith({ password, pinsWithPassword: true }))).toMatchObject({
    hostKey: impostor.target.hostKey,
  });
  expect(impostor.passwords).toEqual([password]);
});
