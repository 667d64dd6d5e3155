import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openAccount } from '../../src/activities/provider/account.js';
import type { ActivityParts } from '../../src/activities/parts.js';
import type { Json, JsonObject } from '../../src/model/json.js';
import { checkConfiguration } from '../../src/plugins/check-accounts.js';
import { readInventory } from '../../src/plugins/inventory/read-inventory.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import type { Descriptor } from '../../src/schema/descriptor.js';
import { checkFieldFiles } from '../../src/schema/field-files.js';
import { resolveSecrets } from '../../src/secrets/reference.js';
import { pretendForeign, withoutRoot } from '../harness/foreign.js';
import { newFolder } from '../harness/folder.js';

/**
 * Administrators' fields with texts that name no file of a worker: names, addresses, secrets,
 * and paths on nodes. A new field belongs here, or its descriptor says `files`.
 */
const others: Readonly<Record<string, string>> = {
  ansible: '',
  compose: 'program engine',
  aws: 'region accessKeyId secretAccessKey sessionToken endpoint hostKeySecret privateKey keyName user subnets zones securityGroups instanceProfile',
  docker: 'ca cert key privateKey publicKeys user network address',
  example: 'endpoint apiKey',
  fake: '',
  ipmi: 'machines controllers groups erase',
  libcloud: 'endpoint key secret region hostKeySecret privateKey keyName user networks securityGroups',
  libvirt: 'pool network bridge arch addresses hostKeySecret privateKey publicKeys user libraries',
  local: 'endpoint apiKey',
  openstack:
    'authUrl applicationCredentialId applicationCredentialSecret username password project userDomain projectDomain region hostKeySecret privateKey keyName user networks securityGroups zones floatingNetwork',
  pool: 'pool tenant',
  redfish: 'machines controllers groups erase',
  service: 'resources',
  static: 'groups user',
};
const textTypes: readonly string[] = ['string', 'text', 'url', 'list', 'map', 'json'];

/** A value of the field whose part at a place names a path. */
function valueAt([first, ...rest]: readonly string[], kind: string, path: string): Json {
  if (first === undefined) return kind === 'command' ? [path] : kind === 'url' ? `unix://${path}` : path;
  const inner = valueAt(rest, kind, path);
  return first === '*' && rest.length > 0 ? [inner] : { [first === '*' ? 'load' : first]: inner };
}

describe('files that fields of plugins name', () => {
  let registry: Registry;
  let folder: string;
  beforeAll(async () => {
    registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  });
  afterAll(() => registry.close());
  beforeEach(() => {
    folder = newFolder();
  });

  const descriptors = (): readonly Descriptor[] =>
    [...registry.providers(), ...registry.automators()].map(({ descriptor }) => descriptor);
  const static_ = (): Descriptor => registry.provider('static').descriptor;

  it('every built-in plugin declares for each text field whether it names files', () => {
    const undeclared = descriptors().flatMap(({ name, fields }) => {
      const known = (others[name] ?? '').split(' ');
      return Object.entries(fields?.admin ?? {})
        .filter(([, { type, files }]) => textTypes.includes(type) && files === undefined)
        .filter(([key]) => !known.includes(key))
        .map(([key]) => `${name}.${key}`);
    });
    expect(undeclared).toEqual([]);
  });

  // Promise: foreign-files
  it('each declared field refuses a file that another user owns or may write', () => {
    let checked = 0;
    for (const descriptor of descriptors())
      for (const [key, { files = {}, type }] of Object.entries(descriptor.fields?.admin ?? {}))
        for (const [place, kind] of Object.entries(typeof files === 'string' ? { '': files } : files)) {
          const path = join(folder, `file-${checked}`);
          writeFileSync(path, '', { mode: 0o600 });
          const written = valueAt(place === '' ? [] : place.split('.'), kind, path);
          const value = type === 'string' && Array.isArray(written) ? (written[0] as Json) : written;
          const check = (): readonly string[] =>
            checkFieldFiles(descriptor, { [key]: value }, ['fields']).map(
              (problem) => `${problem.path.join('.')}: ${problem.wrong}`,
            );
          const where = `${descriptor.name}.${key} ${place}`;
          expect(check(), where).toEqual([]);
          const restore = pretendForeign(path);
          expect(check(), where).toEqual([expect.stringMatching(/^fields\..* belongs to user \d+/)]);
          restore();
          chmodSync(path, 0o666);
          expect(check(), where).toEqual([
            expect.stringContaining('may be written by other users (mode 666)'),
          ]);
          checked += 1;
        }
    expect(checked).toBeGreaterThan(15);
  });

  it('include paths in the parameters of a URL, and links to files of others', () => {
    const key = join(folder, 'key');
    const link = join(folder, 'link');
    writeFileSync(key, '');
    symlinkSync(key, link);
    const { descriptor } = registry.provider('libvirt');
    const check = (path: string): number =>
      checkFieldFiles(descriptor, { uri: `qemu+ssh://root@host/system?no_tty=1&keyfile=${path}` }, []).length;
    expect([check(key), check(link)]).toEqual([0, 0]);
    chmodSync(key, 0o666);
    expect([check(key), check(link)]).toEqual([1, 1]);
  });

  const checkTree = (): void => {
    const automators = { ansible: { fields: { program: '/bin/true', folder: join(folder, 'playbooks') } } };
    checkConfiguration(registry, { namedFiles: [], providers: {}, automators });
  };

  it('a worker refuses to start and names the place, for every file of a tree', () => {
    mkdirSync(join(folder, 'playbooks/roles/web'), { recursive: true });
    const tasks = join(folder, 'playbooks/roles/web/tasks.yml');
    writeFileSync(tasks, '');
    expect(checkTree).not.toThrow();
    chmodSync(tasks, 0o666);
    expect(checkTree).toThrow(`automators.ansible.fields.folder: ${tasks} may be written by other users`);
  });

  it('include files of folders that links in a tree lead to, each folder once', () => {
    mkdirSync(join(folder, 'playbooks'));
    mkdirSync(join(folder, 'shared/roles'), { recursive: true });
    const tasks = join(folder, 'shared/roles/tasks.yml');
    writeFileSync(tasks, '');
    symlinkSync('../shared', join(folder, 'playbooks/linked'));
    symlinkSync('../../playbooks', join(folder, 'shared/roles/back'));
    expect(checkTree).not.toThrow();
    chmodSync(tasks, 0o666);
    expect(checkTree).toThrow(`${tasks} may be written by other users`);
    rmSync(tasks);
    mkdirSync(join(folder, 'open'));
    chmodSync(join(folder, 'open'), 0o1777);
    symlinkSync('../open/absent', join(folder, 'playbooks/absent'));
    expect(checkTree).toThrow(
      `${join(folder, 'open/absent')} does not exist, and other users could create it`,
    );
  });

  it('a folder that cannot be read is refused with its place; one that no user of this host may enter is skipped', () => {
    const closed = join(folder, 'playbooks/lost+found');
    mkdirSync(closed, { recursive: true });
    chmodSync(folder, 0o755);
    chmodSync(closed, 0);
    expect(() => withoutRoot(checkTree)).not.toThrow();
    chmodSync(closed, 0o711);
    if (process.getuid?.() !== 0) chmodSync(closed, 0o100);
    expect(() => withoutRoot(checkTree)).toThrow(
      `automators.ansible.fields.folder: ${closed} cannot be checked: permission denied`,
    );
    chmodSync(closed, 0o755);
  });

  const machine = { name: 'm', address: '127.0.0.1' };
  const account = (fields: JsonObject): Parameters<typeof checkConfiguration>[1]['providers'] => ({
    lab: { type: 'static', fields: { machines: [machine], ...fields } },
  });

  it('files are checked when a worker starts, and again before each call', async () => {
    const knownHosts = join(folder, 'known_hosts');
    writeFileSync(knownHosts, '');
    const providers = account({ knownHosts });
    const parts = {
      registry,
      providers,
      forbiddenReferences: () => [],
      resolveSecrets: async (value: Json) => ({ value, secrets: [] }),
    } as unknown as ActivityParts;
    const open = (): Promise<unknown> => openAccount(parts, { name: 'lab' }, { hide: () => undefined });
    const checkStart = (): unknown =>
      checkConfiguration(registry, { namedFiles: [], providers, automators: {} });
    expect(checkStart).not.toThrow();
    await expect(open()).resolves.toMatchObject({ name: 'lab' });
    chmodSync(knownHosts, 0o666);
    const wrong = `${knownHosts} may be written by other users`;
    expect(checkStart).toThrow(`providers.lab.fields.knownHosts: ${wrong}`);
    await expect(open()).rejects.toThrow(wrong);
    rmSync(knownHosts);
    chmodSync(folder, 0o1777);
    expect(checkStart).not.toThrow();
    await expect(open()).rejects.toThrow(`${knownHosts} does not exist, and other users could create it`);
  });

  it('files that references name are checked once they are resolved, also in a command', async () => {
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
    const reference = { secret: 'env:PROGRAM' };
    const open = (fields: JsonObject): Promise<unknown> =>
      openAccount(
        {
          registry,
          providers: account(fields),
          forbiddenReferences: () => [],
          resolveSecrets: (value: Json) =>
            resolveSecrets(
              value,
              { environment: { PROGRAM: program } },
              { writtenBy: 'administrator', place: 'it' },
            ),
        } as unknown as ActivityParts,
        { name: 'lab' },
        { hide: () => undefined },
      );
    const accounts: readonly JsonObject[] = [
      { knownHosts: reference },
      { programs: { deleted: [reference] } },
      { programs: { deleted: ['/bin/sh', reference] } },
    ];
    for (const fields of accounts) {
      chmodSync(program, 0o700);
      await expect(open(fields), JSON.stringify(fields)).resolves.toMatchObject({ name: 'lab' });
      chmodSync(program, 0o777);
      await expect(open(fields), JSON.stringify(fields)).rejects.toThrow(
        `${program} may be written by other users`,
      );
    }
  });

  it('may be absent sockets, whose use fails', () => {
    chmodSync(folder, 0o1777);
    const agent = join(folder, 'agent');
    expect(checkFieldFiles(static_(), { agent, machines: [{ agent }] }, [])).toEqual([]);
    expect(checkFieldFiles(static_(), { keyFile: agent }, [])).toHaveLength(1);
  });

  it('pass over references, which are checked when they are resolved', async () => {
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'hidden');
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\necho hidden\n', { mode: 0o700 });
    expect(checkFieldFiles(static_(), { agent: { secret: `file:${secret}` } }, [])).toEqual([]);
    const resolve = (reference: string, writtenBy: 'administrator' | 'user'): Promise<unknown> =>
      resolveSecrets(
        { secret: reference },
        { environment: {} },
        { writtenBy, place: 'it', allows: () => true },
      );
    for (const [file, reference] of [
      [secret, `file:${secret}`],
      [program, `exec:${program}`],
      [program, `exec:/bin/sh ${program}`],
    ] as const) {
      chmodSync(file, 0o700);
      await expect(resolve(reference, 'administrator')).resolves.toMatchObject({ value: 'hidden' });
      chmodSync(file, 0o777);
      await expect(resolve(reference, 'administrator')).rejects.toThrow(
        `${file} may be written by other users (mode 777)`,
      );
    }
  });
});

describe('an inventory', () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
  });

  const write = (name: string, text: string): string => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const read = (file: string): Promise<unknown> => readInventory({ file, log: { warn: () => undefined } });

  // Promise: foreign-files
  it.each([
    ['itself', 'hosts.ini'],
    ['variables of groups', 'group_vars/all.yml'],
    ['variables of hosts', 'host_vars/web/own.yml'],
    ['a folder of variables', 'group_vars'],
  ])('is refused if others may write %s', async (_what, name) => {
    const file = write('hosts.ini', 'web ansible_host=127.0.0.1\n');
    write('group_vars/all.yml', 'ansible_user: me\n');
    write('host_vars/web/own.yml', 'ansible_port: 2222\n');
    await expect(read(file)).resolves.toMatchObject([{ value: { user: 'me', port: 2_222 } }]);
    chmodSync(join(folder, name), 0o777);
    await expect(read(file)).rejects.toThrow(
      `${join(folder, name)} may be written by other users (mode 777)`,
    );
  });

  // Promise: inventories-run-nothing
  it.each([
    ['hosts.yml', "machines: [{name: web, address: 127.0.0.1, password: {secret: 'exec:id'}}]\n"],
    ['hosts.json', '{"machines": [{"name": "web", "controller": {"password": {"secret": "exec:id"}}}]}'],
    ['hosts.yaml', "all: {hosts: {web: {ansible_password: {secret: 'exec:id'}}}}\n"],
    ['group.yaml', 'all: {hosts: {web: {}}}\n'],
    ['hosts.csv', 'name,address,password.secret\nweb,127.0.0.1,exec:id\n'],
  ])('carries no exec: reference: %s', async (name, text) => {
    const variables = (scheme: string): string => `ansible_password: {secret: "${scheme}:id"}\n`;
    if (name === 'group.yaml') write('group_vars/all.yml', variables('exec'));
    await expect(read(write(name, text))).rejects.toThrow(
      /inventory .*: .*secret of machine web is an exec: reference, which is not allowed in an inventory/,
    );
    if (name === 'group.yaml') write('group_vars/all.yml', variables('file'));
    await expect(read(write(name, text.replaceAll('exec:id', 'file:/id')))).resolves.toHaveLength(1);
  });
});
