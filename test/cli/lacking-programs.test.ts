import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkPrograms } from '../../src/cli/system/doctor-local.js';
import { lackingPrograms } from '../../src/cli/plugin/lacking.js';
import { loadConfig } from '../../src/config/index.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let registry: Registry;
beforeEach(async () => {
  folder = newFolder();
  registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
});
afterEach(() => registry.close());

async function install(name: string, mode = 0o755): Promise<void> {
  await mkdir(join(folder, 'bin'), { recursive: true });
  await writeFile(join(folder, 'bin', name), '#!/bin/sh\n', { mode });
}

test('a plugin lacks the programs that it needs and that are not on PATH, until they are there', async () => {
  const path = join(folder, 'bin');
  const { descriptor } = registry.provider('ipmi');
  expect(await lackingPrograms(descriptor, path)).toEqual(['ipmitool']);
  await install('ipmitool', 0o644);
  expect(await lackingPrograms(descriptor, path)).toEqual(['ipmitool']);
  await rm(join(path, 'ipmitool'));
  await install('ipmitool');
  expect(await lackingPrograms(descriptor, path)).toEqual([]);
  expect(await lackingPrograms(registry.automator('shell').descriptor, path)).toEqual([]);
});

test('a program that a field names takes the place of its default; one with a folder is not looked for', async () => {
  const path = join(folder, 'bin');
  const { descriptor } = registry.provider('libvirt');
  expect(await lackingPrograms(descriptor, path)).toEqual(['virsh']);
  expect(await lackingPrograms(descriptor, path, { program: 'my-virsh' })).toEqual(['my-virsh']);
  expect(await lackingPrograms(descriptor, path, { program: '/opt/virsh' })).toEqual([]);
});

test('heddle doctor names the accounts that need what is lacking, and none else', async () => {
  await writeFile(
    join(folder, 'heddle.yaml'),
    `providers:
  rack: {type: ipmi, fields: {}}
  vms: {type: libvirt, fields: {program: virsh-9}}
  hosts: {type: static, fields: {}}
`,
  );
  const config = loadConfig({
    configFlag: join(folder, 'heddle.yaml'),
    env: { PATH: join(folder, 'bin'), HEDDLE_DATA_DIR: join(folder, 'data') },
  });
  const found = await checkPrograms(registry, config);
  expect(found).toMatchObject({ state: 'warn', next: 'heddle plugins' });
  expect(found.text).toBe(
    'not on PATH of this machine: account rack (ipmi) needs ipmitool; account vms (libvirt) needs virsh-9',
  );
  await install('ipmitool');
  await install('virsh-9');
  expect(await checkPrograms(registry, config)).toMatchObject({ state: 'ok' });
});
