import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { addWay, findLogin } from '../../src/activities/provider/address.js';
import type { ProviderAccount } from '../../src/model/provider-account.js';
import type { Json } from '../../src/model/json.js';
import type { SecretOrigin } from '../../src/model/secret-reference.js';
import { jumpOrigin } from '../../src/plugins/login-references.js';
import type { Registry } from '../../src/plugins/registry.js';
import { resolveSecrets } from '../../src/secrets/reference.js';
import { pretendForeign } from '../harness/foreign.js';
import { newFolder } from '../harness/folder.js';

const address = { host: '192.0.2.11', port: 22, user: 'root', hostKey: 'ssh-ed25519 AAAA' };
const { hostKey: _, ...unpinned } = address;

async function way(account: Partial<ProviderAccount>, given = address as Parameters<typeof addWay>[2]) {
  const hidden: string[] = [];
  const parts = {
    providers: { rack: { type: 'static', site: 'default', fields: {}, ...account } },
    resolveSecrets: (value: Json, origin: SecretOrigin) =>
      resolveSecrets(
        value,
        { environment: { JUMP_KEY: 'the key of the jump host' } },
        { ...origin, allows: () => false },
      ),
  };
  return {
    address: await addWay(parts, 'rack', given, {
      hide: (secrets) => {
        hidden.push(...secrets);
      },
    }),
    hidden,
  };
}

describe('the way to the machines of an account', () => {
  test('is direct unless the account says more', async () => {
    expect(await way({})).toEqual({ address, hidden: [] });
  });

  test('goes through its jump host, whose secrets are resolved and hidden', async () => {
    const jump = {
      host: 'bastion',
      user: 'ops',
      key: { secret: 'env:JUMP_KEY' },
      password: 'written as it is',
      hostKey: ['ssh-ed25519 BBBB'],
    };
    const { address: found, hidden } = await way({ jump });
    expect(found).toEqual({
      ...address,
      jump: { ...jump, port: 22, origin: jumpOrigin('rack'), key: 'the key of the jump host' },
    });
    expect(hidden).toEqual(expect.arrayContaining(['the key of the jump host', 'written as it is']));
  });

  test('names the field of a secret of the jump host that is not available', async () => {
    const jump = { host: 'bastion', user: 'ops', key: { secret: 'env:GONE' }, hostKey: 'ssh-ed25519 BBBB' };
    const field = 'jump.key of provider rack in heddle.yaml';
    await expect(way({ jump })).rejects.toMatchObject({
      message: expect.stringMatching(`^${field}: the secret \\(env:\\) cannot be read`) as string,
      remedy: `provide the secret to the workers, or correct ${field}`,
    });
  });

  test('refuses an agent of another user for the jump host, and not one that is absent', async () => {
    const folder = newFolder();
    const agent = join(folder, 'agent');
    const jump = { host: 'bastion', user: 'ops', agent, hostKey: 'ssh-ed25519 BBBB' };
    // As in /tmp, others could create it.
    chmodSync(folder, 0o1777);
    expect((await way({ jump })).address.jump).toMatchObject({ agent });
    writeFileSync(agent, '');
    const restore = pretendForeign(agent);
    await expect(way({ jump })).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringMatching(
        /^the agent for the jump host of provider rack: .*agent belongs to user/,
      ) as string,
    });
    restore();
    rmSync(folder, { recursive: true });
  });

  test('may have an unknown key pinned, unless the account refuses that', async () => {
    expect(await way({}, unpinned)).toEqual({ address: unpinned, hidden: [] });
    await expect(way({ hostKeys: 'provided' }, unpinned)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('hostKeys: provided'),
    });
    expect(await way({ hostKeys: 'provided' })).toEqual({ address, hidden: [] });
  });

  test('sends a password to an unknown host only if the account says `hostKeys: pin`', async () => {
    expect((await way({}, unpinned)).address.pinsWithPassword).toBeUndefined();
    expect((await way({ hostKeys: 'pin' })).address.pinsWithPassword).toBeUndefined();
    expect((await way({ hostKeys: 'pin' }, unpinned)).address.pinsWithPassword).toBe(true);
  });
});

describe('the login to a node', () => {
  const login = async (providerid: string) => {
    const machine = { name: 'b1', address: '192.0.2.11', user: 'root', password: 'p' };
    const descriptor = { name: 'static', fields: {} };
    const parts = {
      providers: { rack: { type: 'static', site: 'default', fields: { machines: [machine] } } },
      registry: { providers: () => [{ descriptor }] } as unknown as Registry,
      resolveSecrets: (value: Json) => Promise.resolve({ value, secrets: [] }),
    };
    const config = { providerid, ipaddress: '192.0.2.11', 'ssh-auth': { user: 'root', password: 'p' } };
    return findLogin(parts, { account: 'rack', config }, { hide: () => undefined });
  };

  test('knows where the settings of an existing machine are, so that errors name a remedy', async () => {
    const place = 'machine b1 of provider rack in heddle.yaml';
    expect((await login('b1#2')).address.origin).toEqual({ host: place, login: place });
    expect((await login('b2')).address).not.toHaveProperty('origin');
  });
});
