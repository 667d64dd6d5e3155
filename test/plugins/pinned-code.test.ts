import { existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProviderContext } from '../../src/plugins/registered.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import { providerDescriptor, writeFiles, type Files } from '../harness/programs/bench.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
const opened: Registry[] = [];
beforeEach(() => {
  folder = newFolder();
});
afterEach(() => Promise.all(opened.splice(0).map((registry) => registry.close())));

/** The folder of the copies is that of one registry, as of one worker. */
async function load(files: Files, copies = join(folder, `copies-${opened.length}`)): Promise<Registry> {
  writeFiles(folder, files);
  const registry = await loadRegistry({
    folders: [join(folder, 'plugins')],
    builtIn: false,
    copyTo: copies,
    log: { info: () => undefined },
  });
  opened.push(registry);
  return registry;
}

async function failureOf(files: Files): Promise<string> {
  return load(files).then(
    () => 'nothing',
    (error: unknown) => String(error),
  );
}

/** The providerid that CREATE of provider `p` returns. */
async function create(registry: Registry): Promise<unknown> {
  const ignore = (): void => undefined;
  const context: Pick<ProviderContext, 'task' | 'fields' | 'signal' | 'log'> = {
    task: { taskId: 't', taskName: 'CREATE' } as ProviderContext['task'],
    fields: {},
    signal: new AbortController().signal,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  };
  const made = await registry
    .provider('p')
    .create(context as ProviderContext)
    .create({ key: 'k', token: 't', flavor: 'f', image: 'i', hostname: 'h', tags: {}, fields: {} });
  return (made ?? {}).result?.['providerid'];
}

// A limit of one call per process: each call loads the code anew.
const classDescriptor = providerDescriptor({ entry: './p.ts', class: 'P', limits: { calls: 1 } });
const classWith = (body: string, imports = ''): string =>
  `${imports}\nexport class P { async create() { return { result: { providerid: ${body} } }; } confirm() {} delete() {} }`;
const programDescriptor = providerDescriptor({ command: ['./p.sh'] });
const programWith = (id: string): string =>
  `#!/bin/sh\ncat >/dev/null\necho '{"status": 0, "result": {"providerid": "${id}"}}'\n`;

describe('a registered plugin', () => {
  test.each<readonly [string, Files, Files]>([
    [
      'a program',
      { 'plugins/providers/p/p.json': programDescriptor, 'plugins/providers/p/p.sh': programWith('old') },
      { 'plugins/providers/p/p.sh': programWith('new') },
    ],
    [
      'a file that a program reads',
      {
        'plugins/providers/p/p.json': programDescriptor,
        'plugins/providers/p/p.sh': '#!/bin/sh\ncat >/dev/null\ncat answer',
        'plugins/providers/p/answer': '{"status": 0, "result": {"providerid": "old"}}',
      },
      { 'plugins/providers/p/answer': '{"status": 0, "result": {"providerid": "new"}}' },
    ],
    [
      'a TypeScript class',
      { 'plugins/providers/p/p.json': classDescriptor, 'plugins/providers/p/p.ts': classWith('"old"') },
      { 'plugins/providers/p/p.ts': classWith('"new"') },
    ],
    [
      'a package in its folder',
      {
        'plugins/providers/p/p.json': classDescriptor,
        'plugins/providers/p/p.ts': classWith('id', 'import { id } from "names";'),
        'plugins/providers/p/node_modules/names/index.js': 'exports.id = "old";',
      },
      { 'plugins/providers/p/node_modules/names/index.js': 'exports.id = "new";' },
    ],
    [
      'a hidden file',
      {
        'plugins/providers/p/p.json': programDescriptor,
        'plugins/providers/p/p.sh': '#!/bin/sh\n. ./.code.sh',
        'plugins/providers/p/.code.sh': programWith('old'),
      },
      { 'plugins/providers/p/.code.sh': programWith('new') },
    ],
  ])('runs its own code after a change of %s, until it is loaded again', async (_, files, changed) => {
    const registry = await load(files);
    const { digest } = registry.provider('p');
    writeFiles(folder, changed);
    expect(await create(registry)).toBe('old');
    expect(await create(registry)).toBe('old');
    expect(registry.versions()).toMatchObject([{ name: 'p', digest }]);

    const reloaded = await load({});
    expect(await create(reloaded)).toBe('new');
  });

  test('runs after its folder was deleted', async () => {
    const registry = await load({
      'plugins/providers/p/p.json': classDescriptor,
      'plugins/providers/p/p.ts': classWith('"old"'),
    });
    rmSync(join(folder, 'plugins'), { recursive: true });
    expect(await create(registry)).toBe('old');
    expect(registry.provider('p').folder).toBe(join(folder, 'plugins/providers/p'));
  });

  test('imports packages and takes the kind of its modules from folders above it', async () => {
    const registry = await load({
      'package.json': { type: 'module' },
      'node_modules/outer/index.js': 'export const outer = "outer";',
      'node_modules/outer/package.json': { type: 'module' },
      'plugins/package.json': { type: 'module' },
      'plugins/node_modules/inner/index.js': 'exports.inner = "inner";',
      'plugins/providers/p/p.json': providerDescriptor({ entry: './p.js', class: 'P' }),
      'plugins/providers/p/p.js': classWith(
        '`${inner} ${outer}`',
        'import { inner } from "inner"; import { outer } from "outer";',
      ),
    });
    expect(await create(registry)).toBe('inner outer');
  });

  test('keeps links within its folder', async () => {
    writeFiles(folder, { 'plugins/providers/p/real.sh': programWith('old') });
    symlinkSync('real.sh', join(folder, 'plugins/providers/p/p.sh'));
    const registry = await load({ 'plugins/providers/p/p.json': programDescriptor });
    writeFiles(folder, { 'plugins/providers/p/real.sh': programWith('new') });
    expect(await create(registry)).toBe('old');
  });

  test('leaves no copy behind when it is closed', async () => {
    const copies = join(folder, 'copies');
    const registry = await load(
      { 'plugins/providers/p/p.json': programDescriptor, 'plugins/providers/p/p.sh': programWith('old') },
      copies,
    );
    expect(readdirSync(copies)).toHaveLength(1);
    await registry.close();
    expect(existsSync(copies)).toBe(false);
  });
});

describe('a plugin is refused', () => {
  test('if a file of it is a link that leads outside of its folder', async () => {
    writeFiles(folder, { 'shared.sh': programWith('old'), 'plugins/providers/p/p.sh': programWith('old') });
    symlinkSync('../../../shared.sh', join(folder, 'plugins/providers/p/shared.sh'));
    expect(await failureOf({ 'plugins/providers/p/p.json': programDescriptor })).toContain(
      "contains shared.sh, a link to a file outside the plugin's folder. Copy the file into the folder",
    );
  });

  test('if its code imports a file outside of its folder, and the message names both', async () => {
    const message = await failureOf({
      'lib.ts': 'export const id = "x";',
      'plugins/providers/p/p.json': classDescriptor,
      'plugins/providers/p/p.ts': classWith('id', 'import { id } from "../../../lib.js";'),
    });
    expect(message).toContain(join(folder, 'plugins/providers/p/p.ts'));
    expect(message).toContain(
      "imports ../../../lib.js, outside of the plugin's folder. Move it into the folder",
    );
    expect(message).not.toContain('copies');
  });
});
