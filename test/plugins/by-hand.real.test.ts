import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startMachineService, type MachineService } from '../../src/testing/index.js';
import { runHeddle, type Ended } from '../harness/cli/run-heddle.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

const root = join(import.meta.dirname, '../..');
let folder: string;
let service: MachineService;
beforeAll(async () => {
  folder = newFolder();
  service = await startMachineService();
});
afterAll(() => service.close());

const heddle = (...words: readonly string[]): Promise<Ended> =>
  runHeddle(words, { distPath: inject('distPath'), cwd: folder });

function write(file: string, value: object): string {
  writeFileSync(join(folder, file), JSON.stringify(value));
  return file;
}

describe('plugins from scratch', () => {
  it('creates providers and automators in an empty folder; they compile, and their tests pass', async () => {
    expect(await heddle('plugin', 'new', 'provider', 'my-cloud')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('wrote providers/my-cloud/my-cloud.ts'),
    });
    expect(await heddle('plugin', 'new', 'provider', 'py-cloud', '--language', 'python')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('wrote providers/py-cloud/py-cloud.py'),
    });
    expect(await heddle('plugin', 'new', 'automator', 'sh-tool', '--language', 'shell')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('wrote automators/sh-tool/sh-tool.sh'),
    });
    expect(await heddle('plugin', 'new', 'automator', 'my_tool', '--json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"automators/my_tool/my_tool.ts"'),
    });
    // What `npm install` does with a checkout.
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(root, join(folder, 'node_modules', 'heddle'), 'dir');
    const types = spawnSync(
      process.execPath,
      [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder],
      { encoding: 'utf8' },
    );
    expect(types.stdout + types.stderr).toBe('');
    // A part of their suites; test:real runs the whole.
    const tests = spawnSync(process.execPath, ['--test', '--test-name-pattern', '^(life|once):'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(tests.stdout + tests.stderr).toMatch(/fail 0/);
    // `life` of my-cloud and `once` of my_tool; `heddle plugins test` tests programs.
    expect(tests.stdout).toMatch(/pass 2\n/);
    expect(tests.status).toBe(0);
  });

  it('refuses a name that is taken or invalid', async () => {
    expect(await heddle('plugin', 'new', 'provider', 'my-cloud')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('already exists'),
    });
    expect(await heddle('plugin', 'new', 'provider', '../x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not a valid plugin name'),
    });
    expect(await heddle('plugin', 'new', 'provider', 'x', '--language', 'shell')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('only in typescript, python'),
    });
    expect(await heddle('plugin', 'new', 'driver', 'x')).toMatchObject({ code: 2 });
  });

  it('shows the plugins of the configuration that --config names, before and after the verb', async () => {
    const config = write('other.yaml', { plugins: ['.'] });
    expect(await heddle('plugins', '--config', config)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/provider +my-cloud/),
    });
    expect(await heddle('plugins', 'show', 'my-cloud', '--config', config)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('class MyCloudProvider'),
    });
    const { stdout } = await heddle('plugins', 'show', 'my-cloud', '--schema', '--config', config);
    expect(JSON.parse(stdout)).toMatchObject({ admin: { properties: { apiKey: { writeOnly: true } } } });
    expect(await heddle('plugins', 'show', 'my-cloud')).toMatchObject({ code: 4 });
  });

  it('waits for the end of a plugin that ignores signals', async () => {
    mkdirSync(join(folder, 'deaf', 'providers', 'deaf'), { recursive: true });
    write('deaf/providers/deaf/deaf.json', { deaf: { classname: 'Deaf' } });
    writeFileSync(
      join(folder, 'deaf/providers/deaf/deaf.mjs'),
      `import { Provider } from 'heddle/plugin';
      process.on('SIGTERM', () => undefined);
      export class Deaf extends Provider { async create() {} async confirm() {} async delete() {} }`,
    );
    expect(await heddle('plugins', '--config', write('deaf.yaml', { plugins: ['./deaf'] }))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('deaf'),
    });
  });

  it('executes single tasks: a machine is created, confirmed, configured and deleted, each from a file', async () => {
    writeFileSync(join(folder, 'key'), service.apiKey, { mode: 0o600 });
    const config = write('other.yaml', { plugins: ['.'] });
    const provider = {
      fields: { endpoint: service.endpoint, apiKey: { secret: `file:${join(folder, 'key')}` } },
    };
    const run = async (
      plugin: string,
      task: object,
    ): Promise<{ readonly ended: Ended; readonly result: Record<string, unknown> }> => {
      const ended = await heddle('plugins', 'run', plugin, write('task.json', task), '--config', config);
      return {
        ended,
        result: (JSON.parse(ended.stdout) as { readonly result?: Record<string, unknown> }).result ?? {},
      };
    };
    const created = await run('my-cloud', {
      taskName: 'CREATE',
      config: { flavor: 'tiny', image: 'host' },
      provider,
    });
    expect(created.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('is being created') });
    const payload = await until('the machine is ready', async () => {
      const { ended, result } = await run('my-cloud', {
        taskName: 'CONFIRM',
        config: created.result,
        provider,
      });
      if (ended.code !== 0) expect(ended.stdout).toContain('"kind": "NotReady"');
      return ended.code === 0 && { ...created.result, ...result };
    });
    const done = await run('my_tool', {
      taskName: 'INSTALL',
      config: payload,
      service: {
        name: 'web',
        action: { fields: { script: 'cat; echo web.port=80 >> "$HEDDLE_RESULT"', data: 'hello' } },
      },
    });
    expect(done).toMatchObject({
      ended: { code: 0, stderr: expect.stringContaining('hello') },
      result: { 'web.port': '80' },
    });
    await until(
      'the machine is gone',
      async () => (await run('my-cloud', { taskName: 'DELETE', config: payload, provider })).ended.code === 0,
    );
    expect(await service.machines()).toEqual([]);
    expect(created.ended.stdout + created.ended.stderr).not.toContain(
      readFileSync(join(folder, 'key'), 'utf8'),
    );
  });

  it('gives the plugin what the engine would give it, and accepts what the engine would accept', async () => {
    const fields = {
      admin: {
        url: { title: 'URL', type: 'string' },
        size: { title: 'Size', type: 'integer', default: 7 },
        key: { title: 'Key', type: 'string', secret: true, passReferences: true },
      },
      user: { how: { title: 'How', type: 'select', options: ['well', 'reserved', 'refused'] } },
      required: { admin: [['url']], user: [['how']] },
    };
    mkdirSync(join(folder, 'strict', 'providers', 'strict'), { recursive: true });
    write('strict/providers/strict/strict.json', {
      name: 'strict',
      type: 'provider',
      entry: './strict.mjs',
      class: 'Strict',
      version: '1.0.0',
      description: 'Strict.',
      fields,
    });
    writeFileSync(
      join(folder, 'strict/providers/strict/strict.mjs'),
      `import { PluginError, Provider } from 'heddle/plugin';
      export class Strict extends Provider {
        async create({ fields }) {
          if (fields.how === 'reserved') return { result: { flavor: 'x' } };
          if (fields.how === 'refused') throw new PluginError('Auth', 'no', { remedy: 'correct the key' });
          return { result: { providerid: 'id', fields: JSON.stringify(fields) } };
        }
        async confirm() {}
        async delete() {}
      }`,
    );
    mkdirSync(join(folder, 'strict', 'providers', 'late'));
    write('strict/providers/late/late.json', {
      name: 'late',
      type: 'provider',
      entry: './late.mjs',
      class: 'Late',
      version: '1.0.0',
      description: 'Late.',
      callDeadlineMs: 100,
    });
    writeFileSync(
      join(folder, 'strict/providers/late/late.mjs'),
      `import { Provider } from 'heddle/plugin';
      export class Late extends Provider {
        async create() { await new Promise((_, reject) => this.signal.addEventListener('abort', () => reject(new Error('late')))); }
        async confirm() {}
        async delete() {}
      }`,
    );
    const config = write('strict.yaml', { plugins: ['./strict'] });
    const run = (given: object): Promise<Ended> =>
      heddle(
        'plugins',
        'run',
        'strict',
        write('task.json', { taskName: 'CREATE', provider: { fields: given } }),
        '--config',
        config,
      );
    const well = await run({ url: 'u', how: 'well', key: { secret: 'env:NOT_SET' } });
    expect(well).toMatchObject({ code: 0 });
    const { result } = JSON.parse(well.stdout) as { readonly result: { readonly fields: string } };
    expect(JSON.parse(result.fields)).toEqual({
      url: 'u',
      size: 7,
      how: 'well',
      key: { secret: 'env:NOT_SET' },
    });
    expect(await run({ how: 'well', sizes: 1 })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('provider.fields.sizes: is an unknown key. Did you mean "size"?'),
    });
    expect(await run({ url: 'u' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('provider.fields.how: is missing'),
    });
    expect(await run({ url: 'u', how: 'reserved' })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('returned flavor, which is reserved for Heddle'),
    });
    const refused = await run({ url: 'u', how: 'refused' });
    expect(JSON.parse(refused.stdout)).toEqual({
      status: 1,
      error: { kind: 'Auth', message: 'no', remedy: 'correct the key' },
    });
    expect(
      await heddle('plugins', 'run', 'late', write('task.json', { taskName: 'CREATE' }), '--config', config),
    ).toMatchObject({ code: 1, stdout: expect.stringContaining('did not answer within 100 ms') });
    const action = { fields: { scripts: '/nowhere' } };
    expect(
      await heddle(
        'plugins',
        'run',
        'shell',
        write('task.json', {
          taskName: 'INSTALL',
          config: { ipaddress: '127.0.0.1', 'ssh-auth': { user: 'x' } },
          service: { action },
        }),
      ),
    ).toMatchObject({ code: 2, stderr: expect.stringContaining('service.action.fields') });
  });

  it('reports errors in a task file', async () => {
    const config = write('other.yaml', { plugins: ['.'] });
    expect(
      await heddle(
        'plugins',
        'run',
        'my-cloud',
        write('task.json', { taskName: 'MAKE' }),
        '--config',
        config,
      ),
    ).toMatchObject({ code: 2, stderr: expect.stringContaining('it must be one of CREATE') });
    expect(await heddle('plugins', 'run', 'my-cloud', 'absent.json', '--config', config)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot be read as a task'),
    });
    expect(
      await heddle(
        'plugins',
        'run',
        'no-cloud',
        write('task.json', { taskName: 'DELETE' }),
        '--config',
        config,
      ),
    ).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/provider plugin \\?"no-cloud\\?" is not installed/),
    });
  });
});
