import type { JsonObject } from '../../src/model/json.js';
import { expect, it } from 'vitest';
import { stripSecrets } from '../../src/model/node/strip-secrets.js';

it('removes secrets from a payload at any depth, and does not change it', () => {
  const payload: JsonObject = {
    providerid: 'i-1',
    ipaddress: '127.0.0.1',
    'ssh-port': 22,
    'ssh-host-key': 'ssh-ed25519 AAAA',
    key: 'value',
    'ssh-auth': { user: 'root', password: 'hunter2', key: '-----BEGIN', port: 22 },
    admin: { userPassword: 'x', name: 'a', token: null },
    api_token: ['a', 'b'],
    'private-key': { pem: 'x' },
    privateKey: 'x',
    PASSPHRASE: 'x',
    fields: { login: { secret: 'env:NAME' }, list: [{ secret: 'file:x' }, { password: 'x' }, 'plain'] },
  };
  const before = structuredClone(payload);
  expect(stripSecrets(payload)).toEqual({
    providerid: 'i-1',
    ipaddress: '127.0.0.1',
    'ssh-port': 22,
    'ssh-host-key': 'ssh-ed25519 AAAA',
    key: 'value',
    'ssh-auth': { user: 'root', password: '(secret)', key: '(secret)', port: 22 },
    admin: { userPassword: '(secret)', name: 'a', token: null },
    api_token: '(secret)',
    'private-key': '(secret)',
    privateKey: '(secret)',
    PASSPHRASE: '(secret)',
    fields: { login: '(secret)', list: ['(secret)', { password: '(secret)' }, 'plain'] },
  });
  expect(payload).toEqual(before);
});
