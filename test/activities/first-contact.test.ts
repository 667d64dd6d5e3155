import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ProviderAccount } from '../../src/model/provider-account.js';
import { openBench, request, type Bench } from '../harness/activities/parts.js';
import { makeHostKey, startNode, type TestNode } from '../harness/ssh-server.js';

const password = 'the password of the account';

let impostor: TestNode;
let bench: Bench | undefined;
beforeEach(async () => {
  impostor = await startNode({ hostKeys: [makeHostKey().private], password });
});
afterEach(async () => {
  await bench?.close();
  await impostor.close();
});

/** A provider whose machine has a password, and is expected where the impostor answers. */
async function confirm(account: Partial<ProviderAccount>, hostKey?: string) {
  const result = {
    ipaddress: '127.0.0.1',
    'ssh-port': impostor.target.port,
    'ssh-auth': { user: 'root', password },
    'ssh-host-key': hostKey,
  };
  bench = await openBench(
    `async create() {} async delete() {} async confirm() { return { result: ${JSON.stringify(result)} }; }`,
    {
      providers: {
        fault: { type: 'fault', site: 'here', fields: { token: 'the token of the account' }, ...account },
      },
    },
  );
  return bench.run('CONFIRM', request({}));
}

test('CONFIRM sends no password to a machine without a known host key', async () => {
  await expect(confirm({})).rejects.toMatchObject({
    type: 'Invalid',
    message: expect.stringContaining('hostKeys: pin') as string,
  });
  expect(impostor.passwords).toEqual([]);
});

test('CONFIRM sends no password to a machine that shows another host key than its provider gave', async () => {
  await expect(confirm({}, makeHostKey().line)).rejects.toMatchObject({ type: 'Invalid' });
  expect(impostor.passwords).toEqual([]);
});

test('CONFIRM logs in with a password and pins the first key if the account says `hostKeys: pin`', async () => {
  expect((await confirm({ hostKeys: 'pin' })).result).toMatchObject({
    'ssh-host-key': impostor.target.hostKey,
  });
});
