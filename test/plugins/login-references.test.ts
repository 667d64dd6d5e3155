import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/model/json.js';
import { poolAccount } from '../../src/model/names.js';
import { loginReferences } from '../../src/plugins/login-references.js';
import { loadRegistry } from '../../src/plugins/registry.js';

const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
const describeType = (type: string): ReturnType<typeof registry.provider>['descriptor'] =>
  registry.provider(type).descriptor;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-references-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function referencesOf(fields: JsonObject, type = 'static'): Promise<readonly string[]> {
  return [...(await loginReferences({ rack: { type, fields } }, 'rack', describeType))].sort();
}

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

describe('references that may stand in a login', () => {
  it('are those of machines in heddle.yaml, and their key files', async () => {
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

  it.each(['static', 'ipmi', 'redfish'])('are those of the inventory of %s, as it is now', async (type) => {
    const entry = (name: string): string =>
      `{name: ${name}, address: 10.0.0.1, password: {secret: "file:/etc/${name}"}, controller: {password: {secret: "env:${name}"}}}`;
    const inventory = await write('rack.yaml', `machines: [${entry('a')}]\n`);
    expect(await referencesOf({ inventory }, type)).toEqual(['env:a', 'file:/etc/a']);
    await write('rack.yaml', `machines: [${entry('b')}]\n`);
    expect(await referencesOf({ inventory }, type)).toEqual(['env:b', 'file:/etc/b']);
  });

  it('are the key files of an Ansible inventory and its group_vars', async () => {
    const inventory = await write('hosts', '[web]\na ansible_ssh_private_key_file=keys/a\n');
    expect(await referencesOf({ inventory })).toEqual([`file:${join(folder, 'keys', 'a')}`]);
  });

  it('are those of every account for a node of a pool', async () => {
    const accounts = {
      rack: { type: 'static', fields: { keyFile: '/etc/rack.key' } },
      other: { type: 'static', fields: { inventory: join(folder, 'absent.yaml') } },
      gone: { type: 'uninstalled', fields: { keyFile: '/etc/gone.key' } },
    };
    const installed = (type: string) => (type === 'static' ? describeType(type) : undefined);
    expect([...(await loginReferences(accounts, poolAccount, installed))]).toEqual(['file:/etc/rack.key']);
    expect([...(await loginReferences(accounts, 'other', installed))]).toEqual([]);
  });
});
