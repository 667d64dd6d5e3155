import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { refuseForeign } from '../../src/activities/provider/references.js';
import type { Json, JsonObject } from '../../src/model/json.js';
import { poolAccount } from '../../src/model/names.js';
import { loginReferences, originOfMachine } from '../../src/plugins/login-references.js';
import { loadRegistry } from '../../src/plugins/registry.js';
import { fieldOf, type OwnReferences } from '../../src/schema/references.js';
import { allowReferences } from '../../src/secrets/allowed.js';
import { configuredSecrets } from '../../src/worker/configured-secrets.js';
import { newFolder } from '../harness/folder.js';

const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
const plugins = registry.providers();

let folder: string;

beforeEach(() => {
  folder = newFolder();
});

async function referencesOf(fields: JsonObject, type = 'static'): Promise<readonly string[]> {
  return [...(await loginReferences({ rack: { type, fields } }, 'rack', plugins)).references.keys()].sort();
}

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

describe('references that may stand in a login', () => {
  it('include those of machines in heddle.yaml and their key files', async () => {
    const machines: Json[] = [
      { name: 'a', address: '10.0.0.1', password: { secret: 'file:/etc/a' } },
      { name: 'b', address: '10.0.0.2', keyFile: '/etc/b.key' },
    ];
    expect(await referencesOf({ machines, keyFile: '/etc/rack.key', user: 'env:NOT_ONE' })).toEqual([
      'file:/etc/a',
      'file:/etc/b.key',
      'file:/etc/rack.key',
    ]);
  });

  it.each(['static', 'ipmi', 'redfish'])('are those that the inventory of %s contains now', async (type) => {
    const entry = (name: string): string =>
      `{name: ${name}, address: 10.0.0.1, password: {secret: "file:/etc/${name}"}, controller: {password: {secret: "env:${name}"}}}`;
    const inventory = await write('rack.yaml', `machines: [${entry('a')}]\n`);
    expect(await referencesOf({ inventory }, type)).toEqual(['env:a', 'file:/etc/a']);
    await write('rack.yaml', `machines: [${entry('b')}]\n`);
    expect(await referencesOf({ inventory }, type)).toEqual(['env:b', 'file:/etc/b']);
  });

  it('include the key files of an Ansible inventory and its group_vars', async () => {
    const inventory = await write('hosts', '[web]\na ansible_ssh_private_key_file=keys/a\n');
    expect(await referencesOf({ inventory })).toEqual([`file:${join(folder, 'keys', 'a')}`]);
  });

  it('are those of every account for a node of a pool', async () => {
    const accounts = {
      rack: { type: 'static', fields: { keyFile: '/etc/rack.key' } },
      other: { type: 'static', fields: { inventory: join(folder, 'absent.yaml') } },
      gone: { type: 'uninstalled', fields: { keyFile: '/etc/gone.key' } },
    };
    const ofPool = await loginReferences(accounts, poolAccount, plugins);
    expect([...ofPool.references.keys()]).toEqual(['file:/etc/rack.key']);
    const ofOther = await loginReferences(accounts, 'other', plugins);
    expect([...ofOther.references]).toEqual([]);
    expect(ofOther.incomplete?.message).toContain('absent.yaml cannot be read on this host');
  });

  const vault = '[db]\nc ansible_ssh_pass="{{ from_vault }}"\n';

  it('include those of the groups of the account, whatever other hosts have', async () => {
    const inventory = await write('hosts', `[web]\na ansible_ssh_private_key_file=/etc/a\n${vault}`);
    const fields = { inventory, groups: ['web'] };
    expect(await referencesOf(fields)).toEqual(['file:/etc/a']);
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);
    const own = await loginReferences({ rack: { type: 'static', fields } }, 'rack', plugins);
    vi.restoreAllMocks();
    expect(own.incomplete).toBeUndefined();
  });

  it('come with the field of each machine that uses them', async () => {
    const inventory = await write(
      'rack.yaml',
      'machines: [{name: c, address: 10.0.0.3, keyFile: /etc/key}]\n',
    );
    const machines: Json[] = [
      { name: 'a', address: '10.0.0.1', keyFile: '/etc/key' },
      { name: 'b', address: '10.0.0.2', key: { secret: 'file:/etc/key' } },
    ];
    const fields = { machines, keyFile: '/etc/key', inventory };
    const own = await loginReferences({ rack: { type: 'static', fields } }, 'rack', plugins);
    const fieldFor = (machine?: string): string | undefined => fieldOf(own, 'file:/etc/key', machine);
    expect(fieldFor('a')).toBe('keyFile of machine a of provider rack in heddle.yaml');
    expect(fieldFor('b')).toBe('key of machine b of provider rack in heddle.yaml');
    expect(fieldFor('c')).toBe(`keyFile of machine c in inventory ${inventory}`);
    expect(fieldFor()).toBe('keyFile of provider rack in heddle.yaml');
  });

  it('the origin of a machine is where it is listed, and that of its login where that is set', async () => {
    const inventory = await write(
      'rack.yaml',
      'machines: [{name: c, address: 10.0.0.3, keyFile: /etc/key}]\n',
    );
    const machines: Json[] = [
      { name: 'a', address: '10.0.0.1' },
      { name: 'b', address: '10.0.0.2', user: 'root', password: 'x' },
    ];
    const fields = { machines, inventory, user: 'admin', keyFile: '/etc/rack.key' };
    const descriptor = plugins.find(({ descriptor: { name } }) => name === 'static')?.descriptor ?? {};
    const originOf = (machine: string) => originOfMachine(descriptor, { name: 'rack', fields }, machine);
    const account = 'provider rack in heddle.yaml';
    expect(await originOf('a')).toEqual({ host: `machine a of ${account}`, login: account });
    const b = `machine b of ${account}`;
    expect(await originOf('b')).toEqual({ host: b, login: b });
    const c = `machine c in inventory ${inventory}`;
    expect(await originOf('c')).toEqual({ host: c, login: `${account} or of ${c}` });
    expect(await originOf('absent')).toBeUndefined();
  });

  const node = { password: { secret: 'env:GONE' } };
  const known = { key: { secret: 'file:/etc/a' } };
  const refuse = (fields: JsonObject, account: string, value: JsonObject): Promise<OwnReferences> =>
    refuseForeign(
      { registry, providers: { rack: { type: 'static', site: 'here', fields } } },
      account,
      value,
      'ssh-auth',
    );

  it.each(['rack', poolAccount])(
    'of hosts beside a wrong one are resolved, for account %s',
    async (account) => {
      const inventory = await write('hosts', `[web]\na ansible_ssh_private_key_file=/etc/a\n${vault}`);
      await expect(refuse({ inventory }, account, known)).resolves.toBeDefined();
      await expect(refuse({ inventory }, account, node)).rejects.toMatchObject({
        kind: 'Retryable',
        message: expect.stringContaining('host c: ansible_ssh_pass is a template') as string,
      });
      vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);
      await expect(refuse({ inventory }, account, node)).rejects.toMatchObject({ kind: 'Invalid' });
      vi.restoreAllMocks();
    },
  );

  it('are read again if the inventory has just changed', async () => {
    const inventory = await write('hosts', '[web]\na ansible_ssh_private_key_file=/etc/a\n');
    await expect(refuse({ inventory }, 'rack', node)).rejects.toMatchObject({ kind: 'Retryable' });
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);
    await expect(refuse({ inventory }, 'rack', node)).rejects.toThrow(
      'holds a secret reference that is neither',
    );
    vi.restoreAllMocks();
  });
});

describe('secrets of heddle.yaml', () => {
  // Promise: configured-secrets
  it('include key files, inventories with their references, and the files that fields name', async () => {
    const inventory = await write(
      'hosts',
      '[web]\na ansible_ssh_private_key_file=keys/a\n[db]\nb ansible_ssh_private_key_file=keys/b\n',
    );
    const rack = {
      type: 'static',
      site: 'here',
      fields: {
        inventory,
        groups: ['web'],
        keyFile: '/etc/rack.key',
        knownHosts: '/etc/rack/known',
        machines: [{ keyFile: '/etc/b' }],
      },
    };
    const automators = { ansible: { fields: { folder: '/opt/plays' } } };
    const secrets = configuredSecrets({ providers: { rack }, automators }, registry);
    await secrets.update({ a: { secret: 'env:A' } });
    const allows = allowReferences(['file:*'], [], [...secrets.known]);
    for (const path of [
      '/etc/rack.key',
      '/etc/b',
      '/etc/rack/known',
      '/opt/plays/secret.yml',
      inventory,
      join(folder, 'group_vars/all.yml'),
      join(folder, 'host_vars/a'),
      join(folder, 'keys/a'),
      join(folder, 'keys/b'),
    ])
      expect({ path, allowed: allows(`file:${path}`) }).toEqual({ path, allowed: false });
    expect(allows('file:/etc/app')).toBe(true);
    await write('hosts', 'all: [');
    await secrets.update({ secret: 'env:A' });
    expect(secrets.known.has(`file:${join(folder, 'keys', 'a')}`)).toBe(true);
  });
});
