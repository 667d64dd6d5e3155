import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
beforeAll(async () => {
  folder = newFolder();
  await writeFile(join(folder, 'type.yaml'), 'providers: {x: {type: nosuch, fields: {}}}\n');
});

const run = (words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  runHeddle(words, {
    distPath: inject('distPath'),
    cwd: folder,
    env: { HEDDLE_DATA_FOLDER: join(folder, 'data'), TEMPORAL_ADDRESS: inject('temporalAddress'), ...env },
  });

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
    ['an unknown action', ['logs', 'web', '--action', 'STRAT'], {}, /It must be one of CREATE, CONFIRM/],
  ])('ends with exit code 2, its place and the remedy: %s', async (_, words, env, told) => {
    const { code, stderr } = await run(words, env);
    expect(stderr).toMatch(told);
    expect(code).toBe(2);
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
        /^error: No Temporal server answers at [^ ]+: TLS is configured, but the service there does not support it\..*\nnext: heddle config show\n$/,
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
