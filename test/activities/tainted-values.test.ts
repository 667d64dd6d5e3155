import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/model/json.js';
import type { TaskOutcome } from '../../src/model/node/task-request.js';
import type { Registry } from '../../src/plugins/registry.js';
import type { FieldDeclaration } from '../../src/schema/descriptor.js';
import { type Bench, openBench, request } from '../harness/activities/parts.js';
import { attacksOn, expression, origins, type Origin } from '../harness/attacks.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { newFolder } from '../harness/folder.js';

const folder = newFolder();
const witness = join(folder, 'witness');
const attacks = attacksOn(witness);
const originNames = Object.keys(origins) as readonly Origin[];

let node: TestNode;
let bench: Bench;
let count = 0;

beforeAll(async () => {
  node = await startNode();
  const bin = join(node.home, 'bin');
  mkdirSync(bin);
  // Stand-ins note what real tools would be given.
  for (const [name, text] of Object.entries(standIns))
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}`, { mode: 0o755 });
  node.env['PATH'] = `${bin}:${node.env['PATH'] ?? ''}`;
  bench = await openBench('create() {} confirm() {} delete() {}', {
    automators: { compose: { fields: { program: join(bin, 'compose'), engine: 'true' } } },
    askPeers: async () => ({ version: 1, changed: peers, gone: [] }),
  });
});
afterAll(async () => {
  await bench.close();
  await node.close();
});
beforeEach(() => rmSync(join(node.home, 'got'), { force: true }));
afterEach(() => rmSync(witness, { force: true }));

const standIns = {
  puppet: 'env > "$HOME/got"',
  'chef-solo': 'cp "$4" "$HOME/got"',
  compose: '[ "$1" = version ] || env > "$HOME/got"',
};

const peers = Object.fromEntries(
  attacks.map((attack, index) => [
    `app-${index + 2}`,
    { hostname: attack, ipaddress: attack, services: ['web'], nodenum: index + 2, group: 'app' },
  ]),
);

/** Runs an action with the attacks in all places that expressions read. */
function install(
  type: string,
  fields: JsonObject,
  by: Bench = bench,
  more: JsonObject = {},
): Promise<TaskOutcome> {
  count += 1;
  const { host, port, user, password = '', hostKey } = node.target;
  const values = Object.fromEntries(attacks.map((attack, index) => [`attack${index}`, attack]));
  return by.run(
    'INSTALL',
    request(
      {},
      {
        taskId: `u/app-1#1/web/INSTALL/${count}`,
        config: {
          ...values,
          ...more,
          id: attacks[0] ?? '',
          hostname: attacks[0] ?? '',
          ipaddress: host,
          'ssh-port': port,
          'ssh-auth': { user, password },
          'ssh-host-key': hostKey,
        },
        variables: Object.fromEntries(
          Object.entries(values).map(([name, value]) => [name, { value, imported: true }]),
        ),
        service: { name: 'web', action: { type, fields } } as never,
      },
    ),
  );
}

const texts = (names: readonly string[]): string => `all: ${names.map(expression).join('\n')}`;
const list = (names: readonly string[]): readonly string[] => names.map(expression);
const map = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name, index) => [`a${index}`, expression(name)]));

/** Of every automator: its fields for data, each with all the attacks, and what a run needs besides. */
const automators: Readonly<
  Record<
    string,
    {
      readonly data: Readonly<Record<string, (names: readonly string[]) => unknown>>;
      readonly more: JsonObject;
    }
  >
> = {
  shell: {
    data: { data: texts, arguments: list, environment: map },
    more: { script: 'cat > "$HOME/got"; printf "%s" "$@" >> "$HOME/got"; env >> "$HOME/got"' },
  },
  linux: { data: { data: texts }, more: { script: 'cat > "$HOME/got"' } },
  puppet: { data: { data: texts, facts: map }, more: { manifest: 'notify { "x": }', sudo: false } },
  chef: { data: { data: texts, attributes: map }, more: { runList: ['web'], sudo: false } },
  compose: { data: { data: texts, environment: map }, more: { file: 'services: {}', sudo: false } },
  fake: { data: { output: texts, results: map }, more: {} },
  // Their plays are in test/plugins/automators/ansible/tainted-values.real.test.ts.
  ansible: { data: { data: texts, vars: map }, more: { playbook: '[]' } },
};

const userFields = (type: string): Readonly<Record<string, FieldDeclaration>> =>
  bench.parts.registry.automator(type).descriptor.fields?.user ?? {};

test('the table has every built-in automator, with its fields for data', () => {
  const declared = bench.parts.registry.automators().map(({ descriptor: { name } }) => [
    name,
    Object.entries(userFields(name))
      .flatMap(([key, { content }]) => (content === 'data' ? [key] : []))
      .toSorted(),
  ]);
  expect(Object.fromEntries(declared)).toEqual(
    Object.fromEntries(
      Object.entries(automators).map(([name, { data }]) => [name, Object.keys(data).toSorted()]),
    ),
  );
});

const rows = Object.keys(automators).flatMap((type) => originNames.map((origin) => ({ type, origin })));

// Promise: values-stay-data
test.each(rows.filter(({ type }) => type !== 'ansible'))(
  'no value from $origin is executed by automator $type',
  async ({ type, origin }) => {
    const names = attacks.map((_, index) => origins[origin](index));
    const { data = {}, more } = automators[type] ?? { more: {} };
    const fields = Object.fromEntries(Object.entries(data).map(([key, make]) => [key, make(names)]));
    await install(type, { ...(fields as JsonObject), ...more });
    expect(existsSync(witness)).toBe(false);
    if (type !== 'fake') expect(readFileSync(join(node.home, 'got'), 'utf8')).toContain('touch');
  },
);

// Promise: code-refuses-values
test.each(rows)(
  'a value from $origin is refused in each field of $type that is code',
  async ({ type, origin }) => {
    const { data = {}, more } = automators[type] ?? { more: {} };
    const code = Object.keys(userFields(type)).filter((key) => !Object.hasOwn(data, key));
    expect(code.length).toBeGreaterThan(0);
    for (const field of code)
      for (const value of [
        expression(origins[origin](0)),
        `x ${expression(origins[origin](0))}`,
        [expression(origins[origin](0))],
      ])
        await expect(install(type, { ...more, [field]: value })).rejects.toMatchObject({
          type: 'Invalid',
          message: expect.stringMatching(
            new RegExp(`services\\.web\\.fields\\.${field}.* is a value .*, and the field ${field} is code`),
          ) as string,
        });
    expect(existsSync(witness)).toBe(false);
  },
);

test.each([
  ['shell', { environment: '${{ node.attack0 }}' }, 'it would determine the keys of the field environment'],
  ['ansible', { vars: '${{ node.attack0 }}' }, 'it would determine the keys of the field vars'],
  [
    'shell',
    { environment: { BASH_ENV: '${{ node.attack0 }}' } },
    'BASH_ENV in the field environment determines what runs',
  ],
  [
    'shell',
    { environment: { BASH_ENV: '${{ word(node.ipaddress) }}' } },
    'BASH_ENV in the field environment determines what runs. Use a literal value.',
  ],
  [
    'ansible',
    { vars: { ansible_connection: '${{ word(node.ipaddress) }}' } },
    'ansible_connection in the field vars determines what runs',
  ],
  [
    'shell',
    { environment: { PATH: 'a:${{ node.attack0 }}' } },
    'PATH in the field environment determines what runs',
  ],
  [
    'ansible',
    { vars: { ansible_ssh_common_args: '${{ node.attack0 }}' } },
    'ansible_ssh_common_args in the field vars',
  ],
  [
    'chef',
    { attributes: { run_list: ['${{ node.attack0 }}'] } },
    'run_list.0 in the field attributes determines what runs',
  ],
])('a name that is code is refused in a field of %s for data: %j', async (type, fields, why) => {
  await expect(install(type, { ...automators[type]?.more, ...(fields as JsonObject) })).rejects.toMatchObject(
    { type: 'Invalid', message: expect.stringContaining(why) as string },
  );
});

test('a value that is a word may be part of code, and any other fails the task', async () => {
  const script = 'echo ${{ word(node.ipaddress) }} "${{ word(services.db.ipaddress) }}" > "$HOME/got"';
  await install('shell', { script: script.replace('services.db.ipaddress', 'node.ipaddress') });
  expect(readFileSync(join(node.home, 'got'), 'utf8')).toBe(`${node.target.host} ${node.target.host}\n`);
  for (const index of attacks.keys())
    await expect(
      install('shell', { script: `echo "\${{ word(node.attack${index}) }}"` }),
    ).rejects.toMatchObject({
      type: 'Invalid',
      message: expect.stringContaining('it is not a word') as string,
    });
  expect(existsSync(witness)).toBe(false);
});

// Promise: words-are-single
test('a list is not a word: a shell would run its second item', async () => {
  const list = { servers: ['db', 'touch', witness] };
  const script = 'HOST=${{ word(node.servers) }}\necho "$HOST"';
  await expect(install('shell', { script }, bench, list)).rejects.toMatchObject({
    type: 'Invalid',
    message: expect.stringContaining('it is not a word: it is a list') as string,
  });
  expect(existsSync(witness)).toBe(false);
});

test('what Heddle itself says of a node may be part of code, whatever the node returned by that name', async () => {
  await install('shell', { script: 'echo ${{ node.id }} ${{ nodes.app-2.nodenum }} > "$HOME/got"' });
  expect(readFileSync(join(node.home, 'got'), 'utf8')).toBe('app-1 2\n');
});

describe('without the protection', () => {
  let trusting: Bench;
  beforeAll(async () => {
    const { registry } = bench.parts;
    const automator: Registry['automator'] = (name) => {
      const plugin = registry.automator(name);
      const user = { script: { title: 'Script', type: 'text', content: 'data' } } as const;
      const fields = { admin: {}, user, required: { admin: [], user: [] } };
      return { ...plugin, descriptor: { ...plugin.descriptor, fields } };
    };
    trusting = await openBench('create() {} confirm() {} delete() {}', {
      registry: { ...registry, automator, close: async () => undefined },
    });
  });
  afterAll(() => trusting.close());

  test.each([
    [0, ''],
    [1, ''],
    [2, "'"],
    [3, '"'],
    [4, ''],
  ])('attack %i works in a script', async (index, quote) => {
    const script = `echo ${quote}${expression(`node.attack${index}`)}${quote}`;
    await install('shell', { script }, trusting).catch(() => undefined);
    expect(existsSync(witness)).toBe(true);
  });
});
