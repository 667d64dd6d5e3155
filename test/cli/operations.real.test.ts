import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ended, runHeddle, startHeddle } from '../harness/cli/run-heddle.js';
import { makeCluster, writeSpec } from '../harness/cli/spec.js';

/** One cluster for all of it, as an operator has one: each test leaves it running and at rest. */
describe('heddle for operations on a cluster', () => {
  let stack: Stack;
  let file: string;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
    file = await writeSpec(stack.folder, { name: 'web', count: 2 });
    await makeCluster(stack.client, file);
  });

  const settings = (): Parameters<typeof runHeddle>[1] => ({
    distPath: inject('distPath'),
    cwd: stack.folder,
    env: {
      HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: stack.namespace,
    },
  });
  const run = (...words: readonly string[]): Promise<Ended> => runHeddle(words, settings());

  it('stops services until they are started, and previews it without a change', async () => {
    expect(await run('stop', 'web', 'web', '--plan')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /cluster web: stop web[^]*~ change app-1, app-2 \(2 nodes\)\n +web +stop: requested[^]*Plan: 2 nodes to change; 2 tasks\./,
      ),
    });
    expect((await stack.client.status('web')).history).toHaveLength(1);
    expect(await run('stop', 'web', 'web')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/app-1 STOP web done[^]*cluster web: stop web: 2 tasks in/),
    });
    expect(await run('status', 'web')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('stopped by a user: web; heddle start web web'),
    });
    expect(await run('plan', file)).toMatchObject({
      code: 0,
      stdout: 'stopped by a user, and not started: web\nNo changes.\n',
    });
    expect(await run('start', 'web', 'web')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/app-2 START web done/),
    });
  });

  it('restarts, configures and replaces some nodes, some at a time', async () => {
    expect(await run('restart', 'web', 'web', '--rolling', '1', '--nodes', 'app-1,app-2')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /Plan: 2 nodes to change; 4 tasks, 1 at a time\.[^]*restart web on app-1, app-2, 1 at a time: 4 tasks in/,
      ),
    });
    const { stdout } = await run('reconfigure', 'web', '--restart', '--plan', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      what: 'reconfigure with restart',
      changes: true,
      counts: { update: 2, tasks: 6 },
      tasks: [
        { id: 'k0s0', nodes: ['app-1', 'app-2'], action: 'STOP', service: 'web' },
        { action: 'CONFIGURE' },
        { action: 'START' },
      ],
      edges: [
        { from: 'k0s0', to: 'k0s1' },
        { from: 'k0s1', to: 'k0s2' },
      ],
    });
    const before = await stack.service.journal('create');
    expect(await run('replace', 'web', 'app-2', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/app-2 DELETE done[^]*app-2 CREATE done[^]*replace app-2: \d+ tasks in/),
    });
    expect(await stack.service.journal('create')).toHaveLength(before.length + 1);
  });

  it('shows drift by plan, and repairs it by apply', async () => {
    const { providerid = '' } =
      (await stack.client.status('web')).nodes.find(({ nodeId }) => nodeId === 'app-1') ?? {};
    await stack.service.call('DELETE', `/v1/machines/${providerid}`);
    await until('the machine to be gone', async () =>
      (await stack.service.machines()).every(({ id }) => id !== providerid),
    );
    expect(await run('plan', file, '--detailed-exitcode')).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(
        /^drift: app-1: its machine is gone; replaced by a new one\n[^]*-\/\+ replace app-1 from local \(tiny, image host\): its machine is gone\n/,
      ),
    });
    expect(await run('apply', file)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('app-1 CREATE done'),
    });
  });

  it('refuses unknown nodes and services before an operation starts', async () => {
    const { history } = await stack.client.status('web');
    const refused: readonly (readonly [words: readonly string[], code: number, text: RegExp])[] = [
      [['restart', 'web', 'wbe'], 4, /restart wbe of web: service wbe does not exist; the cluster has web/],
      [['restart', 'web', 'web', '--rolling', '0'], 2, /It must be a whole number of at least 1/],
      [['exec', 'web', '--timeout', 'soon', '--', 'true'], 2, /--timeout "soon" is not a valid duration/],
      [['replace', 'web', 'app-7'], 4, /node app-7 does not exist; the cluster has/],
      [['rollback', 'web', '--plan'], 3, /no previous spec/],
      [['rollback', 'web'], 3, /no previous spec/],
      [['resume', 'web'], 3, /is not paused/],
      [['abandon', 'web', 'app-1', '--yes'], 3, /only if the deletion of its machine fails/],
      [['stop', 'nobody', 'web'], 4, /cluster nobody does not exist/],
    ];
    for (const [words, code, text] of refused)
      expect(await run(...words), words.join(' ')).toMatchObject({
        code,
        stderr: expect.stringMatching(text),
      });
    expect((await stack.client.status('web')).history).toHaveLength(history.length);
  });

  it('executes a command that removes its run folder once, and reports its exit code', async () => {
    const witness = join(stack.folder, 'witness');
    const line = `echo run >> ${witness}; echo cleaned; find "$HOME" -mindepth 1 -delete; exit 3`;
    expect(await run('exec', 'web', '--nodes', 'app-1', '--timeout', '20s', '--', line)).toMatchObject({
      code: 1,
      stdout: 'app-1: exit code 3\ncleaned\n',
    });
    expect(await readFile(witness, 'utf8')).toBe('run\n');
  });

  it('executes a command on each node, and prints output and exit codes', async () => {
    const fine = await run('exec', 'web', '--', 'printf', '%s|', 'a b', '$HOME');
    expect(fine).toEqual({ code: 0, stdout: 'app-1:\na b|$HOME|\napp-2:\na b|$HOME|\n', stderr: '' });
    const mixed = await run(
      'exec',
      'web',
      'echo "out of $HEDDLE_NODE"; echo trouble >&2; test $HEDDLE_NODE = app-1 || exit 3',
    );
    expect(mixed).toMatchObject({
      code: 1,
      stdout: 'app-1:\nout of app-1\napp-2: exit code 3\nout of app-2\n',
      stderr:
        'trouble\ntrouble\nerror[Failed]: 1 of 2 nodes failed: app-2 (exit code 3)\nnext: heddle logs web --action EXEC\n',
    });
    const { stdout } = await run(
      'exec',
      'web',
      '--json',
      '--nodes',
      'app-2',
      '--groups',
      'app',
      'seq 1 1000; exit 7',
    );
    expect(JSON.parse(stdout)).toMatchObject({
      operation: { state: 'failed' },
      error: { code: 'Failed' },
      results: [
        {
          node: 'app-2',
          exitCode: 7,
          stdout: expect.stringMatching(/^1\n2\n[^]*\n1000\n$/),
          stderr: '',
          log: expect.stringContaining('/app-2/'),
        },
      ],
    });
    expect(await run('logs', 'web', 'app-1', '--action', 'EXEC')).toMatchObject({
      stdout: expect.stringContaining('| out of app-1'),
    });
    expect((await stack.client.status('web')).phase).toBe('idle');
  });

  it('says why a command failed if that is more than its exit code', async () => {
    expect(await run('exec', 'web', '--nodes', 'app-1', '--timeout', '1s', '--', 'sleep 60')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^app-1: EXEC app-1: the script on .* ran longer than 1 s and was ended/),
    });
  });

  it('shows the logs of an operation, of a time, and the last lines', async () => {
    await run('exec', 'web', '--nodes', 'app-1', '--', 'seq 1 50');
    const [last] = (await stack.client.status('web')).history;
    const ended = await run('logs', 'web', '--operation', last?.id ?? '', '--since', '10m', '--tail', '2');
    expect(ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\S+ app-1 EXEC \| 49\n\S+ app-1 EXEC \| 50\n$/),
    });
    await sleep(1_100);
    expect(await run('logs', 'web', '--since', '1s')).toMatchObject({ code: 0, stdout: '' });
  });

  it('pauses, resumes, queues and cancels operations, and says who did what', async () => {
    const gate = join(stack.folder, 'gate');
    await writeSpec(stack.folder, {
      name: 'web',
      count: 2,
      configure: `while [ ! -e ${gate} ]; do sleep 0.05; done`,
      start: 'echo again',
    });
    const applying = startHeddle(['apply', file], settings());
    await until('CONFIGURE to run', async () =>
      (await stack.client.status('web')).nodes.some(
        ({ current }) => current?.action === 'CONFIGURE' && current.state === 'running',
      ),
    );
    expect(await run('pause', 'web')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('next: heddle resume web'),
    });
    expect(await run('restart', 'web', 'web')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/busy with operation[^]*--queue/),
    });
    expect(await run('restart', 'web', 'web', '--queue', '--no-wait')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/operation \d+ is accepted/),
    });
    const waiting = (await stack.client.status('web')).queued[0]?.id ?? '';
    const status = await run('status', 'web');
    expect(status.stdout).toMatch(
      /apply by \S+, paused by \S+ .* ago[^]*restart web by \S+, waits for its turn[^]*next: heddle resume web/,
    );
    expect(await run('cancel', 'web', waiting)).toMatchObject({
      code: 0,
      stdout: `web: operation ${waiting} (restart web) is cancelled before it started\n`,
    });
    await writeFile(gate, '');
    expect(await run('resume', 'web')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('web matches its file'),
    });
    expect(await applying.ended).toMatchObject({ code: 0 });
    expect((await run('history', 'web')).stdout).toMatch(
      /^\d+ +cancelled .* restart web\n +cancelled by \S+ before it began\n\d+ +done .* apply\n[^]*^1 +done .* test +apply$/m,
    );
  });

  it('rolls back to the previous spec', async () => {
    expect(await run('rollback', 'web', '--plan')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/~ change app-1, app-2 [^]*web +[a-z, ]*start/),
    });
    expect(await run('rollback', 'web')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('web matches its previous spec'),
    });
  });

  it('ends an operation that was cancelled, for its waiting clients too', async () => {
    await writeSpec(stack.folder, { name: 'web', count: 2, start: 'echo anew; sleep 60' });
    const applying = startHeddle(['apply', file], settings());
    await until('START to run', async () =>
      (await stack.client.status('web')).nodes.some(
        ({ current }) => current?.action === 'START' && current.state === 'running',
      ),
    );
    expect(await run('cancel', 'web')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\(apply\) is cancelled; completed work stays\n$/),
    });
    expect(await applying.ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /\(apply\) was cancelled by \S+; completed work stays\nnext: heddle status web/,
      ),
    });
  });
});
