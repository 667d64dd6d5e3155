import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import type { Claims, PluginContext, Task } from '../../../../src/plugins/contract.js';
import { PluginError } from '../../../../src/plugins/errors.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { machineFaults } from '../../../../src/plugins/providers/static/machines.js';
import { StaticProvider } from '../../../../src/plugins/providers/static/static.js';
import { parseResult } from '../../../../src/schema/result.js';
import { newFolder } from '../../../harness/folder.js';

const hostKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIEZwYWCaL3CKsAZs6Y7Ex4Mr9oXhwdmKBZHjPJUm0yB';
const machines: readonly JsonObject[] = [
  { name: 'one', address: '192.0.2.1', hostKey },
  { name: 'two', address: '192.0.2.2', port: 2222, user: 'admin', key: { secret: 'env:KEY' } },
  { name: 'big', address: 'localhost', flavor: 'big', password: { secret: 'file:/run/password' } },
];

let folder: string;
let claims: Claims;
beforeAll(() => {
  folder = newFolder();
});
beforeEach(() => {
  claims = createClaims();
});

/** The port as the engine keeps it: one order for all callers, one machine for a key. */
function createClaims(): Claims {
  const holders: Record<string, string> = {};
  return {
    take: (key, candidates) => {
      const name =
        Object.keys(holders).find((held) => holders[held] === key) ??
        candidates.find((candidate) => holders[candidate] === undefined);
      if (name !== undefined) holders[name] = key;
      return Promise.resolve(name);
    },
    release: (key) => {
      for (const name of Object.keys(holders).filter((held) => holders[held] === key)) delete holders[name];
      return Promise.resolve();
    },
    held: () => Promise.resolve({ ...holders }),
  };
}

function provider(fields: JsonObject = {}): StaticProvider {
  const task: Task = {
    taskId: 't',
    taskName: 'CREATE',
    clusterId: 'web',
    clusterUid: 'u',
    nodeId: 'app-1',
    incarnation: 1,
    attempt: 1,
    config: {},
    nodes: {},
    cluster: {},
    provider: { name: 'rack', type: 'static', fields: {} },
  };
  const silent = (): void => undefined;
  const context: PluginContext = {
    task,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    signal: new AbortController().signal,
    fields: fieldsOf<JsonObject>('static', { machines, ...fields }, machineFaults),
    claims,
  };
  return new StaticProvider(context);
}

const create = async (key: string, flavor = 'default', fields: JsonObject = {}) =>
  provider(fields).create({ key, flavor, image: 'default', hostname: 'h', fields: {}, token: '', tags: {} });
const machine = (key: string, providerid?: string) => ({
  key,
  tags: {},
  fields: {},
  ...(providerid === undefined ? {} : { providerid }),
});

async function failure(promise: Promise<unknown>): Promise<readonly [string, string]> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof PluginError ? [error.kind, error.message] : ['nothing', String(error)];
}

describe('CREATE', () => {
  test('claims a free machine, the same for the same key, another for another', async () => {
    expect(await create('a')).toEqual({ result: { providerid: 'one', 'ssh-auth': { user: 'root' } } });
    expect(await create('a')).toMatchObject({ result: { providerid: 'one' } });
    expect(await create('b')).toEqual({ result: { providerid: 'two', 'ssh-auth': { user: 'admin' } } });
  });

  test('gives concurrent requests machines of their own', async () => {
    const many = Array.from({ length: 20 }, (_, index) => ({
      name: `m${index}`,
      address: `192.0.2.${index + 1}`,
    }));
    const results = await Promise.all(
      many.map((_, index) => create(`k${index}`, 'default', { machines: many })),
    );
    expect(new Set(results.map(({ result }) => result?.['providerid'])).size).toBe(20);
  });

  test('uses machines of a flavor, and those alone, for requests of that flavor', async () => {
    expect(await create('a', 'big')).toMatchObject({ result: { providerid: 'big' } });
    expect(await failure(create('b', 'big'))).toEqual([
      'Capacity',
      expect.stringContaining('all 1 machines of provider rack that fit are in use (big (big))'),
    ]);
    expect(await create('b', 'small')).toMatchObject({ result: { providerid: 'one' } });
    expect(await create('c', 'other')).toMatchObject({ result: { providerid: 'two' } });
    expect(await failure(create('d', 'small'))).toEqual([
      'Quota',
      expect.stringContaining('all 2 machines of provider rack that fit are in use (one, two)'),
    ]);
  });

  test('lists the machines if none can ever match', async () => {
    expect(await failure(create('a', 'small', { machines: [machines[2] ?? {}] }))).toEqual([
      'Invalid',
      expect.stringContaining('its machines are big (big)'),
    ]);
  });

  test.each<readonly [string, JsonObject, string]>([
    ['no machine', { machines: [] }, 'machines'],
    ['no address', { machines: [{ name: 'a' }] }, 'machines[0].address'],
    [
      'an address that is an option',
      { machines: [{ name: 'a', address: '-oProxyCommand=x' }] },
      'machines[0].address',
    ],
    ['an unknown key', { machines: [{ name: 'a', address: 'b', adress: 'c' }] }, 'adress'],
    ['a broken host key', { machines: [{ name: 'a', address: 'b', hostKey: 'x y' }] }, 'hostKey'],
    [
      'a name twice',
      {
        machines: [
          { name: 'a', address: 'b' },
          { name: 'a', address: 'c' },
        ],
      },
      'a is duplicated',
    ],
    [
      'a machine twice',
      {
        machines: [
          { name: 'a', address: 'b' },
          { name: 'c', address: 'b' },
        ],
      },
      'c is the same machine as a',
    ],
  ])('with %s in the account is Invalid and takes nothing', async (_, fields, expected) => {
    expect(await failure(create('k', 'default', fields))).toEqual([
      'Invalid',
      expect.stringContaining(expected),
    ]);
    expect(await claims.held()).toEqual({});
  });
});

describe('CONFIRM', () => {
  test('returns address, port, credentials as references, and the host key', async () => {
    await create('a');
    await create('b');
    expect(await provider({ keyFile: '/keys/id' }).confirm(machine('a', 'one'))).toEqual({
      result: {
        ipaddress: '192.0.2.1',
        'ssh-port': 22,
        'ssh-auth': { user: 'root', key: { secret: 'file:/keys/id' } },
        'ssh-host-key': [hostKey],
      },
    });
    expect(await provider({ keyFile: '/keys/id' }).confirm(machine('b', 'two'))).toEqual({
      result: {
        ipaddress: '192.0.2.2',
        'ssh-port': 2222,
        'ssh-auth': { user: 'admin', key: { secret: 'env:KEY' } },
      },
    });
  });

  test('finds the machine by its key, resolves its name, and returns what the engine accepts', async () => {
    await create('a', 'big', { machines: [machines[2] ?? {}] });
    const returned = await provider().confirm(machine('a'));
    expect(returned.result?.['ipaddress']).toMatch(/^(127\.0\.0\.1|::1)$/);
    expect(parseResult(returned, { plugin: 'static' })).toEqual(returned);
  });

  test('uses host keys of known_hosts, and refuses a machine without one', async () => {
    const knownHosts = join(folder, 'known_hosts');
    writeFileSync(knownHosts, `[192.0.2.2]:2222 ${hostKey}\n`);
    await claims.take('b', ['two']);
    await claims.take('c', ['big']);
    expect(await provider({ knownHosts }).confirm(machine('b', 'two'))).toMatchObject({
      result: { 'ssh-host-key': [hostKey] },
    });
    expect(await failure(provider({ knownHosts }).confirm(machine('c', 'big')))).toEqual([
      'Invalid',
      expect.stringContaining('has no key for localhost port 22'),
    ]);
    expect(
      await failure(provider({ knownHosts: join(folder, 'absent') }).confirm(machine('b', 'two'))),
    ).toEqual(['Invalid', expect.stringContaining('cannot be read')]);
  });

  test('reports a machine that was released', async () => {
    await claims.take('other', ['one']);
    expect(await failure(provider().confirm(machine('a', 'one')))).toEqual([
      'Invalid',
      expect.stringContaining('machine one was released'),
    ]);
  });

  test('reports a machine that left the account', async () => {
    await claims.take('a', ['gone']);
    expect(await failure(provider().confirm(machine('a', 'gone')))).toEqual([
      'Invalid',
      expect.stringContaining('machine gone is no longer a machine of provider'),
    ]);
  });
});

describe('DELETE', () => {
  test('releases the machine of its key, and only that, repeatably', async () => {
    await create('a');
    await create('b');
    await provider().delete(machine('a', 'one'));
    await provider().delete(machine('a', 'one'));
    expect(await claims.held()).toEqual({ two: 'b' });
    expect(await provider().find('b')).toMatchObject([{ providerid: 'two', key: 'b' }]);
    expect(await provider().find('a')).toEqual([]);
  });

  test('releases by the key even a machine that left the account', async () => {
    await create('a');
    await provider({ machines: [{ name: 'other', address: '192.0.2.9' }] }).delete(machine('a'));
    expect(await claims.held()).toEqual({});
  });
});

describe('notifications', () => {
  const ledger = (): string => join(folder, 'ledger');
  const say = (what: string): readonly string[] => [
    'sh',
    '-c',
    `echo ${what} "$1" "$2" "$HEDDLE_MACHINE" "$HEDDLE_KEY" >>'${ledger()}'`,
    'sh',
    '{machine}',
    '{address}',
  ];
  beforeEach(() => rmSync(ledger(), { force: true }));

  test("start the administrator's programs, with the machine and without variables of the worker", async () => {
    const programs = { deleted: say('deleted'), reused: say('reused') };
    await provider({ programs }).nodeReused(machine('a', 'one'));
    await provider({ programs }).nodeDeleted(machine('a', 'one'));
    expect(readFileSync(ledger(), 'utf8')).toBe('reused one 192.0.2.1 one a\ndeleted one 192.0.2.1 one a\n');
  });

  test('name a machine that left the account, and none that was never allocated', async () => {
    const programs = { deleted: say('deleted') };
    await provider({ programs }).nodeDeleted(machine('a', 'former'));
    await provider({ programs }).nodeDeleted(machine('b'));
    await provider({ programs }).nodeReused(machine('c', 'one'));
    expect(readFileSync(ledger(), 'utf8')).toBe('deleted former  former a\n');
  });

  test('fail with the last line of the program', async () => {
    const programs = { deleted: ['sh', '-c', 'echo first >&2; echo no such host >&2; exit 3'] };
    await expect(provider({ programs }).nodeDeleted(machine('a', 'one'))).rejects.toMatchObject({
      message: 'program deleted for machine one ended with 3: no such host',
    });
    expect(() => provider({ programs: { removed: ['true'] } })).toThrow('"removed" is not a valid name');
  });
});

describe('a claimed machine', () => {
  test('is listed with its key, for any installation', async () => {
    await create('a');
    await create('b');
    await create('c', 'big');
    expect(await provider().list({ 'heddle-installation': 'i' })).toEqual([
      {
        providerid: 'one',
        key: 'a',
        state: 'running',
        address: '192.0.2.1',
        tags: { 'heddle-installation': 'i', 'heddle-key': 'a' },
      },
      {
        providerid: 'two',
        key: 'b',
        state: 'running',
        address: '192.0.2.2',
        tags: { 'heddle-installation': 'i', 'heddle-key': 'b' },
      },
      // A host name is looked up by CONFIRM alone.
      {
        providerid: 'big',
        key: 'c',
        state: 'running',
        tags: { 'heddle-installation': 'i', 'heddle-key': 'c' },
      },
    ]);
    expect(await provider().list({ 'heddle-installation': 'i', 'heddle-key': 'b' })).toHaveLength(1);
    expect(await provider().list({ 'heddle-cluster': 'web' })).toEqual([]);
  });

  test('is found with what CREATE returned', async () => {
    await create('a');
    const { result } = await create('b');
    expect(await provider().find('b')).toMatchObject([{ created: result }]);
  });

  test('that left the account is not listed, and does not count as gone', async () => {
    await create('a');
    const other = provider({ machines: [{ name: 'other', address: '192.0.2.9' }] });
    expect(await other.list({})).toEqual([]);
    expect(await failure(other.find('a'))).toEqual([
      'Invalid',
      expect.stringContaining('machine one is no longer a machine of provider'),
    ]);
  });
});

test('an account without machines and inventory is refused', async () => {
  expect(await failure(create('a', 'default', { machines: [] }))).toEqual([
    'Invalid',
    expect.stringContaining('machines: must not be empty'),
  ]);
  expect(await failure(create('a', 'default', { groups: ['web'] }))).toEqual([
    'Invalid',
    expect.stringContaining('groups: has no effect without inventory'),
  ]);
});
