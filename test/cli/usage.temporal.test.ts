import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Ended, runHeddle, startHeddle } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';

const wrongSpec = `name: web
nodes:
  app: {count: 0, provider: local, services: [app]}
services:
  app:
    requires: [nothing]
    actions:
      strat: {type: shell, fields: {script: 'true'}}
`;

describe('the command line without a server', () => {
  let folder: string;
  beforeAll(async () => {
    folder = newFolder();
    await writeFile(join(folder, 'wrong.yaml'), wrongSpec);
    await writeFile(
      join(folder, 'right.yaml'),
      wrongSpec
        .replace('count: 0', 'count: 1')
        .replace('requires: [nothing]', 'peers: none')
        .replace('strat', 'start'),
    );
  });

  // Port 1 is never listened at: whatever asks a server fails.
  const run = (...words: readonly string[]): Promise<Ended> =>
    runHeddle(words, {
      distPath: inject('distPath'),
      cwd: folder,
      env: { HEDDLE_DATA_FOLDER: join(folder, 'data'), TEMPORAL_ADDRESS: '127.0.0.1:1' },
    });

  it.each(['build', 'upload', 'delete'])(
    'refuses a wrong time limit of image %s before it asks',
    async (verb) => {
      expect(await run('image', verb, 'web', '--timeout', 'soon')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('It must be a duration such as 30s, 10m or 1h30m'),
      });
    },
  );

  it.each(['stdout', 'stderr'] as const)(
    'ends with the code of a failure although nothing reads %s',
    async (stream) => {
      const { child, ended } = startHeddle(
        ['image', 'build', 'web', '--timeout', 'soon', ...(stream === 'stdout' ? ['--json'] : [])],
        { distPath: inject('distPath'), cwd: folder },
      );
      child[stream]?.destroy();
      expect((await ended).code).toBe(2);
    },
  );

  it.each(['web-1', 'web-*'])('refuses to force the steps after loading of %s', async (name) => {
    expect(await run('machine', 'load', name, 'host@1', '--only', 'post-load', '--force')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('give one of them'),
    });
  });

  it('prints the most used commands without arguments', async () => {
    const { code, stdout } = await run();
    expect(code).toBe(0);
    for (const verb of ['dev', 'apply', 'status', 'logs', 'delete'])
      expect(stdout).toContain(`heddle ${verb}`);
  });

  it('lists every command in its help, and the options of one in its own', async () => {
    const { code, stdout } = await run('--help');
    expect(code).toBe(0);
    const verbs = [
      'apply',
      'plan',
      'list',
      'status',
      'nodes',
      'logs',
      'ssh',
      'task',
      'retry',
      'delete',
      'dev',
      'worker',
      'doctor',
      'replay',
      'plugins',
      'provider',
      'keys',
      'server',
      'config',
    ];
    for (const verb of verbs) expect(stdout).toMatch(new RegExp(`^  ${verb}\\b`, 'm'));
    expect((await run('apply', '--help')).stdout).toContain('--create-only');
  });

  it('exits with 2 on wrong usage, suggests the right word, and names the help', async () => {
    expect(await run('aply', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean apply?'),
    });
    expect(await run('apply', 'x', '--no-wiat')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Did you mean --no-wait\?[^]*next: heddle apply --help/),
    });
    expect(await run('apply')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('missing required argument'),
    });
    expect(await run('logs', 'web', '--level', 'loud')).toMatchObject({ code: 2 });
    expect(await run('pool', 'hold', 'ci')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('next: heddle pool hold --help'),
    });
    expect(await run('pool', 'hold', 'ci', 'small-1')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('give the reason for the hold of small-1 with -m TEXT'),
    });
  });

  it('prints usage errors as JSON with --json', async () => {
    const { code, stdout, stderr } = await run('status', '--json');
    expect(code).toBe(2);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'Usage', next: 'heddle status --help' } });
  });

  it('names every error of a file with its place before it calls a server', async () => {
    const { code, stderr } = await run('apply', 'wrong.yaml');
    expect(code).toBe(2);
    expect(stderr).toMatch(/wrong\.yaml:3:\d+: nodes\.app\.count: /);
    expect(stderr).toMatch(/wrong\.yaml:8:\d+: .*Did you mean "start"/);
    expect(await run('plan', 'absent.yaml')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('absent.yaml'),
    });
  });

  it('checks a pools file without a server, with the errors that apply gives', async () => {
    await writeFile(
      join(folder, 'pools.yaml'),
      'pools: {ci: {labels: {a: {}, b: {}}, providerPools: {m: {provider: local, labels: {a: {}}}}}}\n',
    );
    const checked = await run('pool', 'check', 'pools.yaml');
    expect(checked).toMatchObject({ code: 2, stderr: expect.stringContaining('pools.ci.labels.b') });
    expect(await run('pool', 'apply', 'pools.yaml')).toEqual(checked);
    expect(JSON.parse((await run('pool', 'check', 'pools.yaml', '--json')).stdout)).toMatchObject({
      kind: 'pools',
      valid: false,
      problems: [{ line: 1, path: ['pools', 'ci', 'labels', 'b'] }],
    });
    await writeFile(
      join(folder, 'pools.yaml'),
      'pools: {ci: {labels: {a: {}}, providerPools: {m: {provider: local, labels: {a: {}}}}}}\n',
    );
    expect(await run('pool', 'check', 'pools.yaml')).toMatchObject({
      code: 0,
      stdout: 'pools.yaml is valid: pools ci\n',
    });
  });

  it('validates files of each kind without a server, and reports each problem with its place as JSON', async () => {
    await writeFile(join(folder, 'pools.yaml'), 'pools: {ci: {labels: {}, providerPools: {}}}\n');
    await writeFile(join(folder, 'image.yaml'), 'name: base\ncommand: make-image\n');
    expect(await run('validate', 'right.yaml')).toMatchObject({
      code: 0,
      stdout: 'right.yaml is valid: cluster web: 1 node, 1 service\n',
    });
    const { code, stdout, stderr } = await run('validate', 'wrong.yaml', '--json');
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      file: 'wrong.yaml',
      kind: 'cluster',
      valid: false,
      problems: expect.arrayContaining([
        expect.objectContaining({ severity: 'error', line: 3, path: ['nodes', 'app', 'count'] }),
      ]),
      error: { code: 'Invalid' },
    });
    expect((await run('validate', 'wrong.yaml')).stderr).toMatch(/wrong\.yaml:3:\d+: nodes\.app\.count: /);
    expect((await run('validate', 'pools.yaml')).stderr).toMatch(/pools\.yaml:1:\d+: pools\.ci/);
    expect(JSON.parse((await run('validate', 'image.yaml', '--json')).stdout)).toMatchObject({
      kind: 'image',
    });
    expect(await run('validate', 'absent.yaml')).toMatchObject({ code: 2 });
  });

  it('validates a file without the values of its variables, except for what depends on them', async () => {
    const text = (count: string): string => `name: web
variables: {size: {type: number}, word: {}, token: {secret: true}}
nodes: {app: {count: "\${{ var.size }}", provider: local}, db: {count: ${count}, provider: local, services: [db]}}
services: {db: {check: {command: 'true', every: "\${{ var.word }}s"}, actions: {start: {type: shell, fields: {script: 'true', environment: {A: "\${{ var.token }}"}}}}}}
outputs: {url: "\${{ var.word }}/x"}
`;
    await writeFile(join(folder, 'open.yaml'), text('1'));
    expect(await run('validate', 'open.yaml')).toMatchObject({
      code: 0,
      stdout:
        'open.yaml has no errors in what can be checked without values for size, word, token; references and dependencies are not checked\n',
    });
    expect(await run('validate', 'open.yaml', '--var', 'size=2', '--var', 'word=1')).toMatchObject({
      code: 0,
      stdout:
        'open.yaml has no errors in what can be checked without values for token; references and dependencies are not checked\n',
    });
    await writeFile(join(folder, 'open.yaml'), text('many'));
    const { code, stderr } = await run('validate', 'open.yaml');
    expect(code).toBe(2);
    expect(stderr).toMatch(/open\.yaml:3:\d+: nodes\.db\.count: should be a number/);
    expect(stderr).not.toMatch(/size|word|token/);
  });

  it('exits with 5 if no server answers, with its address and how to start one', async () => {
    const verbs = [['list'], ['status', 'web'], ['delete', 'web'], ['apply', 'right.yaml'], ['worker']];
    for (const words of verbs) {
      expect(await run(...words), words.join(' ')).toMatchObject({
        code: 5,
        stderr: expect.stringMatching(/127\.0\.0\.1:1\b[^]*next: heddle dev/),
      });
    }
    expect(await run('plan', 'right.yaml', '--detailed-exitcode')).toMatchObject({ code: 1 });
  });

  it('reports errors by doctor, line by line, and exits with 1', async () => {
    const { code, stdout } = await run('doctor', '--json');
    expect(code).toBe(1);
    const { checks } = JSON.parse(stdout) as { checks: { check: string; state: string; next?: string }[] };
    expect(checks.find(({ check }) => check === 'plugins')).toMatchObject({ state: 'ok' });
    expect(checks.find(({ check }) => check === 'server')).toMatchObject({
      state: 'fail',
      next: 'heddle dev',
    });
  });

  it('shows the built-in plugins and the schema of their fields', async () => {
    expect(await run('plugins')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /provider +local [^]*provider +static [^]*automator +fake [^]*automator +shell /,
      ),
    });
    const { stdout } = await run('plugins', 'show', 'shell', '--schema');
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'shell',
      user: { type: 'object', properties: { script: {} } },
    });
    expect(await run('plugins', 'show', 'shel')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Did you mean "shell"?'),
    });
  });

  it('shows each setting with its origin, but no secret', async () => {
    const config = join(folder, 'heddle.yaml');
    await writeFile(
      config,
      'site: here\nproviders: {lab: {type: local, fields: {endpoint: "http://127.0.0.1:9", apiKey: hunter2}}}\n',
    );
    const { stdout } = await run('config', 'show');
    expect(stdout).toMatch(/site +here +.*heddle\.yaml:1/);
    expect(stdout).toMatch(/dataFolder +.*data +HEDDLE_DATA_FOLDER/);
    expect((await run('config', 'show', '--json')).stdout + stdout).not.toContain('hunter2');
    await rm(config);
  });
});
