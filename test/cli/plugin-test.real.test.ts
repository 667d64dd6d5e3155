import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { runHeddle, startHeddle, type Ended } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';
import { processesWith } from '../harness/processes.js';

/** The author's folder: no heddle.yaml, no Node.js project. */
let cwd: string;
const run = (...words: readonly string[]): Promise<Ended> =>
  runHeddle(['plugins', ...words], { distPath: inject('distPath'), cwd });
const program = (name: string): string => join(cwd, 'providers', name, `${name}.py`);
const settings = (name: string): string => join(cwd, 'providers', name, `${name}.suite.yaml`);

beforeAll(async () => {
  cwd = newFolder();
  for (const words of [
    ['provider', 'sound', '--language', 'python'],
    ['provider', 'broken', '--language', 'python'],
    ['automator', 'steps', '--language', 'shell'],
  ])
    expect(await run('new', ...words)).toMatchObject({ code: 0 });
});

describe('heddle plugins test', () => {
  it('passes a plugin as `heddle plugins new` made it', async () => {
    const [provider, automator] = await Promise.all([
      run('test', 'sound', '--json', '--case', 'life', '--case', 'lost-create,notified'),
      run('test', 'steps'),
    ]);
    const { cases, failed, ...document } = JSON.parse(provider.stdout) as {
      readonly cases: readonly Readonly<Record<string, unknown>>[];
      readonly failed: number;
    };
    expect({ code: provider.code, failed, document }).toMatchObject({
      code: 0,
      failed: 0,
      document: { plugin: 'sound', type: 'provider', settings: settings('sound') },
    });
    expect(cases.map(({ id }) => id)).toEqual(['life', 'notified', 'lost-create']);
    expect(cases).toContainEqual({
      id: 'lost-create',
      title: 'makes one machine for a key, whichever API response is lost during CREATE',
      outcome: 'passed',
      rules: expect.arrayContaining([
        { name: 'CREATE', text: expect.stringContaining('MUST create at most one machine for a key') },
      ]),
      ms: expect.any(Number),
    });
    expect(automator).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^steps: 15 passed, 0 failed/m),
    });
  });

  it('says which rule a plugin breaks and how, and ends with 1', async () => {
    const code = readFileSync(program('broken'), 'utf8');
    const faulty = code
      .replace('answer.headers.get("retry-after")', 'None')
      .replace('"ssh-port": read(machine, "port"),', '"ssh-port": "none",');
    expect(faulty).not.toBe(code);
    writeFileSync(program('broken'), faulty);
    const { code: exit, stdout } = await run('test', 'broken', '--case', 'life,refusals,offers');
    expect(exit).toBe(1);
    expect(stdout).toMatch(/^failed {3}life: makes a machine/m);
    expect(stdout).toMatch(/^failed {3}refusals: fails with Retryable on 429/m);
    expect(stdout).toMatch(/^ +rule Failures: MUST throw a PluginError of the right kind/m);
    expect(stdout).toMatch(/^ +CREATE does not pass on Retry-After: 7$/m);
    expect(stdout).toMatch(/^skipped {2}offers: .*\n +it has no method offers$/m);
    expect(stdout).toMatch(/^broken: 0 passed, 2 failed, 1 skipped/m);
    expect(stdout).toContain('again: heddle plugins test broken --case life');
  });

  it('leaves cases out with a reason, and refuses settings that do not suffice', async () => {
    const file = join(cwd, 'other.yaml');
    writeFileSync(file, 'cloud: {}\nwithout: {offers: "this cloud cannot say"}\n');
    const left = await run('test', 'sound', '--settings', file, '--case', 'offers');
    expect(left).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('left out: this cloud cannot say'),
    });
    writeFileSync(file, 'cloud: {}\nwithout: {offer: "this cloud cannot say"}\n');
    expect(await run('test', 'sound', '--settings', file)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${file}: without: case "offer" does not exist`),
    });
    writeFileSync(file, 'cloud: {}\nloud: 1\n');
    expect(await run('test', 'sound', '--settings', file)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${file}:2:1: loud: is an unknown key`),
    });
    expect(await run('test', 'sound', '--case', 'lief')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('case "lief" does not exist. Did you mean "life"?'),
    });
    expect(await run('test', 'sund')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('plugin "sund" does not exist'),
    });
    expect(await run('test', 'openstack')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('openstack.suite.yaml is missing'),
    });
  });

  it('finds a plugin by its own folder, and lets its cloud lag and fail', async () => {
    const file = join(cwd, 'weather.yaml');
    writeFileSync(file, 'cloud: {lag: 500ms, pageSize: 3}\nflaky: {refuseEvery: 4, loseEvery: 5}\n');
    const folder = join(cwd, 'providers', 'sound');
    const words = [
      '--folder',
      folder,
      '--settings',
      file,
      '--case',
      'life,repetition,list,lost-create,refusals',
    ];
    expect(await run('test', 'sound', ...words)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^sound: 5 passed, 0 failed/m),
    });
    // The descriptor does not say that lists are late.
    writeFileSync(file, 'cloud: {lag: 1m, pageSize: 3}\n');
    expect(await run('test', 'sound', '--settings', file, '--case', 'list-pages')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /list shows \d of 4 machines: .* the descriptor must say how late lists are/,
      ),
    });
  });

  it('cleans up when it is interrupted', async () => {
    const running = startHeddle(['plugins', 'test', 'sound'], { distPath: inject('distPath'), cwd });
    const { child, ended } = running;
    while (!running.stdout().includes('life')) await once(child.stdout ?? child, 'data');
    child.kill('SIGINT');
    expect(await ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('interrupted: the case that runs cleans up first'),
    });
    expect(processesWith(cwd)).toEqual([]);
  });
});
