import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
beforeAll(async () => {
  folder = newFolder();
  await writeFile(join(folder, 'type.yaml'), 'providers: {x: {type: nosuch, fields: {}}}\n');
  await symlink('circle', join(folder, 'circle'));
  await writeFile(
    join(folder, 'rack.yaml'),
    'providers: {rack: {type: static, fields: {machines: [{name: b1}, {name: b2, address: 10.0.0.2}]}}}\n',
  );
});

const run = (words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  runHeddle(words, {
    distPath: inject('distPath'),
    cwd: folder,
    env: { HEDDLE_DATA_FOLDER: join(folder, 'data'), TEMPORAL_ADDRESS: inject('temporalAddress'), ...env },
  });

async function writeKeys(data: string, text: string): Promise<void> {
  await mkdir(join(data, 'keys'), { mode: 0o700 });
  await writeFile(join(data, 'keys', 'keys.json'), text, { mode: 0o600 });
}

describe('a wrong setting', () => {
  it.each<[string, readonly string[], Record<string, string>, RegExp]>([
    ['an empty address', ['list'], { TEMPORAL_ADDRESS: '' }, /TEMPORAL_ADDRESS is empty/],
    ['an empty --address', ['list', '--address', ''], {}, /It must be host:port/],
    ['a URL as --address', ['list', '--address', 'http://x:1'], {}, /It must be host:port/],
    [
      'another file than the named one',
      ['list'],
      { TEMPORAL_CONFIG_FILE: '/absent.toml' },
      /absent\.toml:1:1: .*there is no such file\. It was set by TEMPORAL_CONFIG_FILE/,
    ],
    [
      'broken keys',
      ['list'],
      { HEDDLE_KEYS: 'junk' },
      /HEDDLE_KEYS: is not a JSON object\. Expected the output of/,
    ],
    [
      'a data folder where nothing can be created',
      ['dev'],
      { HEDDLE_DATA_FOLDER: '/proc/heddle' },
      /\/proc\/heddle cannot be created: its folder does not exist, or does not accept files\. Specify another folder/,
    ],
    [
      'keys for a folder where nothing can be created',
      ['keys', 'create'],
      { HEDDLE_DATA_FOLDER: '/proc/heddle' },
      /\/proc\/heddle cannot be created: .*Specify another folder, for example with HEDDLE_DATA_FOLDER/,
    ],
    ['a port that is none', ['dev', '--port', '99999'], {}, /It must be a number from 0 to 65535/],
    [
      'an unknown provider type',
      ['config', 'show', '--config', 'type.yaml'],
      {},
      /type\.yaml:1:17: providers\.x\.type: provider plugin "nosuch" is not installed[^]*next: heddle plugins/,
    ],
    [
      'a machine without an address',
      ['config', 'show', '--config', 'rack.yaml'],
      {},
      /rack\.yaml:1:54: providers\.rack\.fields\.machines\[0\]\.address: is missing/,
    ],
    [
      'a data folder that is a circle of links',
      ['list'],
      { HEDDLE_DATA_FOLDER: 'circle' },
      /dataFolder: .*circle cannot be used: its links lead in a circle; it was set by HEDDLE_DATA_FOLDER/,
    ],
    [
      'a configuration on a broken disk',
      ['list', '--config', '/proc/self/mem'],
      {},
      /\/proc\/self\/mem:1:1: cannot read the configuration: its disk reports an input\/output error/,
    ],
    [
      'a cluster file on a broken disk',
      ['validate', '/proc/self/mem'],
      {},
      /\/proc\/self\/mem:1:1: cannot read the spec: its disk reports an input\/output error/,
    ],
    ['an unknown action', ['logs', 'web', '--action', 'STRAT'], {}, /It must be one of CREATE, CONFIRM/],
  ])('ends with exit code 2, its place and the remedy: %s', async (_, words, env, told) => {
    const { code, stderr } = await run(words, env);
    expect(stderr).toMatch(told);
    expect(code).toBe(2);
  });

  const readers = [
    ['list'],
    ['apply', 'cluster.yaml'],
    ['keys', 'list'],
    ['keys', 'rotate'],
    ['keys', 'export', '-'],
    ['worker'],
  ];

  it.each<[string, (data: string) => Promise<unknown>, RegExp, number?]>([
    [
      'a data folder that others can read',
      (data) => chmod(data, 0o755),
      /data is accessible to other users \(mode 755\)\. chmod go=/,
    ],
    [
      'a key folder that is a file',
      (data) => writeFile(join(data, 'keys'), ''),
      /data\/keys is not a folder/,
    ],
    ['no keys', () => Promise.resolve(), /data\/keys contains no keys|data\/keys does not exist/, 1],
    [
      'keys that are a folder',
      (data) => mkdir(join(data, 'keys', 'keys.json'), { recursive: true, mode: 0o700 }),
      /keys\.json cannot be read: it is a folder/,
    ],
    ['keys that are not JSON', (data) => writeKeys(data, 'junk'), /keys\.json: is not a JSON object/],
    [
      'keys without a current one',
      (data) =>
        writeKeys(
          data,
          JSON.stringify({
            version: 1,
            current: 'k2',
            keys: [{ id: 'k1', createdAt: '2026-01-01T00:00:00Z', key: Buffer.alloc(32).toString('base64') }],
          }),
        ),
      /keys\.json: names a current key that it does not contain/,
    ],
  ])('ends every command that reads keys with one exit code: %s', async (_, prepare, told, exitCode = 2) => {
    const data = join(newFolder(), 'data');
    await mkdir(data, { mode: 0o700 });
    await prepare(data);
    await writeFile(join(folder, 'cluster.yaml'), 'name: web\nnodes: {app: {count: 1, provider: local}}\n');
    for (const words of readers) {
      const { code, stderr } = await run(words, { HEDDLE_DATA_FOLDER: data });
      expect(stderr, words.join(' ')).toMatch(told);
      expect(code, words.join(' ')).toBe(exitCode);
    }
  });

  it('is the namespace for every command alike', async () => {
    const { stdout: keys } = await run(['keys', 'create']).then(() => run(['keys', 'export']));
    const commands = [
      ['list'],
      ['status', 'web'],
      ['delete', 'web'],
      ['pool', 'list'],
      ['machine', 'show', 'm'],
    ];
    for (const words of commands)
      expect(
        await run([...words, '--namespace', 'absent'], { HEDDLE_KEYS: keys }),
        words.join(' '),
      ).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /the Temporal server has no namespace "absent"[^]*next: temporal operator namespace create --namespace absent/,
        ),
      });
    expect(await run(['worker', '--namespace', 'absent'], { HEDDLE_KEYS: keys })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no namespace "absent"'),
    });
  });

  it('is TLS that the server does not speak, and libraries print no warnings of their own', async () => {
    expect(await run(['list'], { TEMPORAL_TLS: 'true' })).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(
        /^error\[NoServer\]: No Temporal server answers at [^ ]+: TLS is configured, but the service there does not support it\..*\nnext: heddle config show\n$/,
      ),
    });
  });

  it('is shown by config show together with all other settings', async () => {
    const { stdout } = await run(['config', 'show', '--config', 'type.yaml', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      providers: { x: { type: 'nosuch' } },
      error: { code: 'Invalid', next: 'heddle plugins' },
    });
  });
});

describe('common options', () => {
  it('a common option has the same effect before, after and within a command', async () => {
    for (const words of [
      ['--json', 'config', 'show'],
      ['config', '--json', 'show'],
      ['config', 'show', '--json'],
      ['--namespace', 'other', '--json', 'config', 'show', '--namespace', 'default'],
    ])
      expect(JSON.parse((await run(words)).stdout), words.join(' ')).toMatchObject({
        'temporal.namespace': 'default',
      });
    expect((await run(['--namespace', 'mine', 'config', 'show'])).stdout).toMatch(
      /temporal\.namespace +mine/,
    );
    const { stdout } = await run(['--json', 'stauts', 'web']);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'Usage', next: 'heddle --help' } });
  });

  it('a common option is refused before a command that does not accept it', async () => {
    expect(await run(['--namespace', 'mine', 'keys', 'list'])).toMatchObject({
      code: 2,
      stderr: "error: heddle keys list has no option '--namespace'\nnext: heddle keys list --help\n",
    });
    expect(await run(['--json', 'apply'])).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('"next": "heddle apply --help"'),
    });
  });
});
