import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../../src/model/json.js';
import { hostsOf, variablesOf, type Groups } from '../../../src/plugins/inventory/groups.js';
import { readIni, splitWords } from '../../../src/plugins/inventory/ini.js';
import { expandRanges } from '../../../src/plugins/inventory/ranges.js';
import { readInventory, readUsable } from '../../../src/plugins/inventory/read-inventory.js';
import { readVariableFiles } from '../../../src/plugins/inventory/variable-files.js';
import { parseYaml, readYaml } from '../../../src/plugins/inventory/yaml.js';
import { newFolder } from '../../harness/folder.js';

const fixtures = join(import.meta.dirname, 'inventories');
const warnings: string[] = [];
const log = { warn: (message: string) => void warnings.push(message) };
let folder: string;
beforeAll(() => {
  // A fault of a file that changed just now may pass.
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
  folder = newFolder();
});

let count = 0;
/** An inventory in a folder of its own, with files beside it. */
function write(content: string, ending = 'ini', beside: Readonly<Record<string, string>> = {}): string {
  count += 1;
  const own = join(folder, String(count));
  for (const [name, text] of Object.entries({ [`hosts.${ending}`]: content, ...beside })) {
    mkdirSync(dirname(join(own, name)), { recursive: true });
    writeFileSync(join(own, name), text);
  }
  return join(own, `hosts.${ending}`);
}

const read = async (file: string, groups?: readonly string[]) =>
  (await readInventory({ file, groups, log })).map(({ value }) => value);

describe('an Ansible inventory', () => {
  const recorded = JSON.parse(
    readFileSync(join(import.meta.dirname, 'recorded', 'ansible-inventory.json'), 'utf8'),
  ) as { readonly hostvars: Readonly<Record<string, JsonObject>> };
  const readers: readonly (readonly [string, (text: string) => Groups])[] = [
    ['hosts.ini', readIni],
    ['hosts.yml', (text) => readYaml(parseYaml(text))],
  ];

  test.each(readers)('%s describes its hosts as Ansible does', async (file, reader) => {
    const groups = reader(readFileSync(join(fixtures, file), 'utf8'));
    const files = await readVariableFiles(fixtures, log);
    expect(
      Object.fromEntries(hostsOf(groups, undefined).map((host) => [host, variablesOf(groups, host, files)])),
    ).toEqual(recorded.hostvars);
  });

  test.each(['hosts.ini', 'hosts.yml'])(
    '%s contains machines, except those that are not reached by SSH',
    async (file) => {
      warnings.length = 0;
      const machines = await read(join(fixtures, file));
      const by = (name: string) => machines.find((machine) => (machine as JsonObject)['name'] === name);
      expect(machines).toHaveLength(12);
      expect(by('jump')).toEqual({ name: 'jump', address: '192.0.2.50', port: 2200, image: 'debian' });
      expect(by('web01.example.com')).toEqual({
        name: 'web01.example.com',
        address: '192.0.2.71',
        user: 'deploy',
        keyFile: join(fixtures, 'keys/prod'),
        flavor: 'small',
        image: 'debian',
        slots: 2,
      });
      expect(by('old')).toMatchObject({
        address: '192.0.2.60',
        port: 2223,
        user: 'a b',
        password: "p#1 ='x'",
        flavor: 'big',
      });
      expect(warnings).toEqual([expect.stringContaining('host localhost of inventory')]);
    },
  );

  test('can be limited to groups and their members', async () => {
    const names = async (...groups: string[]) =>
      (await read(join(fixtures, 'hosts.ini'), groups)).map((machine) => (machine as JsonObject)['name']);
    expect(await names('web')).toEqual([
      'web01.example.com',
      'web02.example.com',
      'web03.example.com',
      'web04.example.com',
      'web06.example.com',
      'web08.example.com',
    ]);
    expect(await names('prod')).toHaveLength(10);
    expect(await names('all')).toHaveLength(12);
    await expect(read(join(fixtures, 'hosts.ini'), ['wbe'])).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining(
        'does not contain group wbe; its groups are all, ungrouped, web, db, prod, local',
      ) as string,
    });
  });

  test('prefers the nearest group, then the higher priority', async () => {
    const file = write(
      '[a]\nh\n[b]\nh\n[top:children]\na\n[top:vars]\nansible_user=top\nansible_port=1\n[a:vars]\nansible_user=a\n[b:vars]\nansible_user=b\n',
    );
    expect(await read(file)).toEqual([{ name: 'h', address: 'h', user: 'a', port: 1 }]);
    const weighed = write(
      '[a]\nh\n[b]\nh\n[a:vars]\nansible_user=a\nansible_group_priority=10\n[b:vars]\nansible_user=b\n',
    );
    expect(await read(weighed)).toEqual([{ name: 'h', address: 'h', user: 'a' }]);
  });

  test('resolves key files from the home folder, absolutely, or from its own folder', async () => {
    const file = write(
      'a ansible_ssh_private_key_file=~/.ssh/id\nb ansible_ssh_private_key_file=/keys/id\nc ansible_private_key_file=id\n',
    );
    expect((await read(file)).map((machine) => (machine as JsonObject)['keyFile'])).toEqual([
      join(homedir(), '.ssh/id'),
      '/keys/id',
      join(dirname(file), 'id'),
    ]);
  });

  test('skips encrypted files of variables with a warning', async () => {
    warnings.length = 0;
    const file = write('[web]\nh\n', 'ini', {
      'group_vars/web/vault.yml': '$ANSIBLE_VAULT;1.1;AES256\n6638\n',
      'group_vars/web/plain.yml': 'ansible_user: deploy\n',
    });
    expect(await read(file)).toEqual([{ name: 'h', address: 'h', user: 'deploy' }]);
    expect(warnings).toEqual([expect.stringContaining('vault.yml is encrypted with ansible-vault')]);
  });
});

describe("an inventory of Heddle's own", () => {
  test('has machines in the form of heddle.yaml, with references', async () => {
    const file = write(
      'machines:\n  - {name: r1, address: 192.0.2.1, key: {secret: "env:KEY"}, slots: 3}\n',
      'yaml',
    );
    expect(await read(file)).toEqual([
      { name: 'r1', address: '192.0.2.1', key: { secret: 'env:KEY' }, slots: 3 },
    ]);
  });

  test('has the line of each machine', async () => {
    const file = write('x: 1\nmachines:\n  - name: r1\n    address: a\n  - {name: r2}\n', 'yaml');
    expect((await readInventory({ file, log })).map(({ line }) => line)).toEqual([3, 5]);
  });
});

describe('a CSV table', () => {
  test('has a machine in each line, and dots lead into mappings', async () => {
    const file = write(
      'name,address,port,controller.host,controller.password.secret\r\n"r,1",192.0.2.1,22,bmc-1,file:/run/a\n\nr2,192.0.2.2,,"b\n""2""",env:B\n',
      'csv',
    );
    expect(await readInventory({ file, log })).toEqual([
      {
        line: 2,
        value: {
          name: 'r,1',
          address: '192.0.2.1',
          port: 22,
          controller: { host: 'bmc-1', password: { secret: 'file:/run/a' } },
        },
      },
      {
        line: 4,
        value: {
          name: 'r2',
          address: '192.0.2.2',
          controller: { host: 'b\n"2"', password: { secret: 'env:B' } },
        },
      },
    ]);
  });
});

describe('an invalid inventory is refused with its place', () => {
  test.each<readonly [string, string, string, RegExp]>([
    ['a section that is none', '[web:hosts_]\nx', 'ini', /line 1: \[web:hosts_\] is not a valid section/],
    ['a word after a host', 'web1\nweb2 secret', 'ini', /line 2: variables after a host must be NAME=VALUE/],
    ['an open quote', 'a x="1', 'ini', /line 1: the quote " is not closed/],
    ['a variable without a name', '[a:vars]\n=x', 'ini', /line 2: a variable must be NAME=VALUE/],
    ['a range downwards', 'web[3:1]', 'ini', /line 1: \[3:1\] in web\[3:1\] is not a valid range/],
    ['a range without an end', 'web[3:]', 'ini', /has a malformed range/],
    ['too many hosts', 'web[1:100000]', 'ini', /line 1: /],
    [
      'groups in each other',
      '[a:children]\nb\n[b:children]\na\n',
      'ini',
      /the groups a, b contain each other/,
    ],
    ['broken YAML', 'all: {hosts: [', 'yml', /line 1/],
    ['hosts as a list', 'all: {hosts: [a]}', 'yml', /all\.hosts: must be a mapping/],
    [
      'a key that no group has',
      'all: {host: {}}',
      'yml',
      /all\.host: a group may only contain hosts, children, vars/,
    ],
    ['text', 'hello', 'yml', /is not an inventory/],
    ['an empty table', '', 'csv', /is empty; its first line names the columns/],
    ['a column without a name', 'name,,x\n', 'csv', /line 1: column 2 has no name/],
    ['a column twice', 'name,name\n', 'csv', /line 1: column name is duplicated/],
    ['a cell too many', 'name,address\na,b\n\nc,d,e', 'csv', /line 4: has 3 cells but 2 columns/],
    ['a value that is a mapping, too', 'a,a.b\n1,2', 'csv', /line 2: a is both a value and a mapping/],
    ['a quote to the end', 'a,b\n1,"2\n3', 'csv', /line 2: the quote is not closed/],
    ['a program', '#!/bin/sh\necho', 'ini', /is a program.*--list --yaml/],
    ['a template', 'h ansible_user="{{ who }}"', 'ini', /host h: ansible_user is a template/],
    [
      'an encrypted value',
      'all:\n  hosts:\n    h:\n      ansible_password: !vault |\n        $ANSIBLE_VAULT;1.1;AES256\n        66\n',
      'yml',
      /host h: ansible_password is encrypted/,
    ],
  ])('%s', async (_what, content, ending, words) => {
    const file = write(content, ending);
    await expect(read(file)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringMatching(words) as string,
    });
    await expect(read(file)).rejects.toMatchObject({ message: expect.stringContaining(file) as string });
  });

  test('is tried again while a file may be being written, and wrong after that', async () => {
    const kindOf = (file: string): Promise<unknown> => read(file).catch((error: unknown) => error);
    const passed = Date.now();
    const now = vi.mocked(Date.now);
    for (const file of [
      write('h ansible_user="{{ who }}"'),
      write('all: [', 'yml'),
      join(folder, 'absent'),
    ]) {
      now.mockReturnValue(performance.timeOrigin + performance.now());
      expect(await kindOf(file)).toMatchObject({ kind: 'Retryable' });
      now.mockReturnValue(passed);
      expect(await kindOf(file)).toMatchObject({ kind: 'Invalid' });
    }
  });

  test('reports a missing file, and a folder', async () => {
    await expect(read(join(folder, 'absent'))).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('cannot be read on this host') as string,
    });
    await expect(read(folder)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('is a folder') as string,
    });
  });

  test('does not quote passwords', async () => {
    await expect(read(write('h ansible_password=hunter2 and more'))).rejects.toMatchObject({
      message: expect.not.stringContaining('hunter2') as string,
    });
  });
});

test.each<readonly [string, readonly string[]]>([
  ['web', ['web']],
  ['web[1:3]', ['web1', 'web2', 'web3']],
  ['web[08:10]', ['web08', 'web09', 'web10']],
  ['[a:c]x', ['ax', 'bx', 'cx']],
  ['w[1:5:2]', ['w1', 'w3', 'w5']],
  ['w[1:2]-[a:b]', ['w1-a', 'w1-b', 'w2-a', 'w2-b']],
])('the range %s stands for %j', (pattern, hosts) => {
  expect(expandRanges(pattern)).toEqual(hosts);
});

test.each<readonly [string, readonly string[]]>([
  // `#` ends a line in the middle of a word too: so does Ansible.
  ['a b=1', ['a', 'b=1']],
  ['a b="x y" c=\'d "e"\'', ['a', 'b=x y', 'c=d "e"']],
  ['a # b', ['a']],
  ['a x=p#b c', ['a', 'x=p']],
  ['a b="\\"x\\\\"', ['a', 'b="x\\']],
  ['a\\ b', ['a b']],
  ['', []],
])('the line %s is %j', (line, words) => {
  expect(splitWords(line)).toEqual(words);
});

describe('an inventory that was read', () => {
  test('is read again only after a change of one of its files', async () => {
    const file = write('[web]\nh\n', 'ini', { 'group_vars/web.yml': 'ansible_user: a\n' });
    const usable = () => readUsable({ file, log });
    const { machines: first } = await usable();
    expect((await usable()).machines).toBe(first);
    const variables = join(dirname(file), 'group_vars/web.yml');
    writeFileSync(variables, 'ansible_user: b\n');
    expect((await usable()).machines).toMatchObject([{ value: { user: 'b' } }]);
    mkdirSync(join(dirname(file), 'host_vars'));
    expect((await usable()).machines).toMatchObject([{ value: { user: 'b' } }]);
    writeFileSync(join(dirname(file), 'host_vars/h'), 'ansible_user: c\n');
    expect((await usable()).machines).toMatchObject([{ value: { user: 'c' } }]);
    rmSync(file);
    expect(await usable()).toMatchObject({ machines: [], faults: [{ kind: 'Invalid' }] });
  });
});
