import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { formatProblem } from '../../src/schema/problem.js';
import { loadSpecFile } from '../../src/schema/cluster/read.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ended, runHeddle, startHeddle } from '../harness/cli/run-heddle.js';

interface SpecOptions {
  readonly name: string;
  readonly count?: number;
  readonly start: string;
  readonly provider?: string;
}

function specText({ name, count = 1, start, provider = 'local' }: SpecOptions): string {
  return JSON.stringify(
    {
      name,
      nodes: { app: { count, provider, hardware: 'tiny', image: 'host', services: ['web'] } },
      services: {
        web: {
          actions: {
            install: { type: 'shell', fields: { script: 'echo installed' } },
            start: { type: 'shell', fields: { script: start } },
          },
        },
      },
    },
    undefined,
    2,
  );
}

describe('heddle for a cluster', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
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
  const json = async (...words: readonly string[]): Promise<unknown> =>
    JSON.parse((await run(...words, '--json')).stdout);
  const write = async (options: SpecOptions): Promise<string> => {
    const file = join(stack.folder, `${options.name}.yaml`);
    await writeFile(file, specText(options));
    return file;
  };
  const brought = async (name: string, operation: string): Promise<void> => {
    expect((await stack.client.waitFor(name, operation)).operation.state).toBe('done');
  };
  /** A cluster that is there, made without the command line. */
  const make = async (options: SpecOptions): Promise<string> => {
    const file = await write(options);
    const reading = loadSpecFile(file);
    if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
    await brought(options.name, (await stack.client.apply(reading.spec)).operation);
    return file;
  };
  const remove = async (name: string): Promise<void> =>
    brought(name, (await stack.client.delete(name)).operation ?? '');

  it('creates it by plan and apply, with a line for each task, and deletes it', async () => {
    const file = await write({ name: 'life', start: 'echo started' });
    const planned = await run('plan', file, '--detailed-exitcode');
    expect(planned.code).toBe(2);
    expect(planned.stdout).toMatch(
      /\+ create app-1 from local[^]*web +install, [^]*Plan: 1 node to create; 5 tasks\./,
    );
    const applied = await run('apply', file);
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    expect(applied.stdout).toMatch(/^\d\d:\d\d:\d\d app-1 CREATE done [\d.]+ s$/m);
    expect(applied.stdout).toMatch(/^\d\d:\d\d:\d\d app-1 START web done [\d.]+ s$/m);
    expect(applied.stdout).toContain('life matches its file: 1 node, 5 tasks in');
    expect(await run('plan', file, '--detailed-exitcode')).toMatchObject({
      code: 0,
      stdout: 'No changes.\n',
    });
    expect(await run('delete', 'life', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('cluster life is deleted'),
    });
    expect((await stack.service.machines()).filter(({ hostname }) => hostname === 'life-app-1')).toEqual([]);
    const [status, history, nodes, logs] = await Promise.all([
      run('status', 'life'),
      run('history', 'life'),
      run('nodes', 'life'),
      run('logs', 'life', '--action', 'DELETE'),
    ]);
    expect(status).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /the last cluster life was deleted at [^]*cluster life: deleted[^]*delete/,
      ),
    });
    expect(history).toMatchObject({ code: 0, stdout: expect.stringMatching(/done [^]*delete\n[^]*apply\n/) });
    expect(nodes).toMatchObject({ code: 4, stderr: expect.stringContaining('was deleted at') });
    expect(logs).toMatchObject({ code: 0, stdout: expect.stringContaining('app-1 DELETE info: attempt 1') });
  });

  it('ends with exit code 1 and the missing nodes if the policy goes on without them', async () => {
    const file = join(stack.folder, 'fewer.yaml');
    const fewer = JSON.parse(specText({ name: 'fewer', count: 2, start: '[ "$HEDDLE_NODE" = app-1 ]' })) as {
      nodes: { app: { minimum?: number } };
    };
    fewer.nodes.app.minimum = 1;
    await writeFile(file, JSON.stringify(fewer));
    expect(await run('apply', file)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('START web on app-2'),
      stderr: expect.stringMatching(
        /cluster fewer has 1 of 2 nodes; missing: app-2\.[^]*next: heddle apply FILE/,
      ),
    });
    expect(await json('status', 'fewer')).toMatchObject({
      history: [{ state: 'done', missing: { count: 1, nodes: ['app-2'] } }],
      next: [{ command: 'heddle apply FILE', why: 'retry app-2' }],
    });
    expect(await run('apply', file, '--accept-minimum')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('cluster fewer: apply: 1 node'),
      stderr: expect.stringContaining('warning: went on without a node'),
    });
    await remove('fewer');
  });

  it('ends with exit code 1 and the missing nodes if its file continues after failures', async () => {
    const file = join(stack.folder, 'goes-on.yaml');
    const spec = JSON.parse(
      specText({ name: 'goes-on', count: 2, start: '[ "$HEDDLE_NODE" = app-1 ]' }),
    ) as object;
    await writeFile(file, JSON.stringify({ ...spec, onFailure: 'continue' }));
    expect(await run('apply', file)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cluster goes-on has 1 of 2 nodes; missing: app-2\./),
    });
    expect(await run('apply', file, '--accept-minimum', '--json')).toMatchObject({ code: 0 });
    await remove('goes-on');
  });

  it('changes it by another spec, not by the same one, and not at all with --create-only', async () => {
    const file = await make({ name: 'change', start: 'true' });
    expect(await json('apply', file)).toMatchObject({
      cluster: 'change',
      operation: { state: 'done' },
      unchanged: true,
    });
    expect(await run('apply', file)).toMatchObject({ code: 0, stdout: 'cluster change: no changes\n' });
    await write({ name: 'change', start: 'true', count: 2 });
    expect(await run('apply', file, '--create-only')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('--create-only'),
    });
    expect(await json('apply', file)).toMatchObject({
      cluster: 'change',
      operation: { state: 'done', tasks: { done: 5 } },
    });
    await remove('change');
  });

  it('shows it by list, status, nodes, logs and task show, and logs in to it', async () => {
    await make({ name: 'shown', start: 'echo started' });
    const [list, status, nodes, logs, task, shell] = await Promise.all([
      json('list'),
      json('status', 'shown'),
      run('nodes', 'shown'),
      run('logs', 'shown', 'app-1', '--action', 'START'),
      json('task', 'show', 'shown', 'app-1/web/START'),
      run('ssh', 'shown', 'app-1', '--', 'sh', '-c', 'echo "$0"; exit 7', 'a b'),
    ]);
    expect(list).toMatchObject({
      clusters: expect.arrayContaining([expect.objectContaining({ name: 'shown', phase: 'idle' })]),
    });
    expect(status).toMatchObject({ phase: 'idle', nodes: [{ nodeId: 'app-1', state: 'ready' }] });
    expect(nodes.stdout).toMatch(/^app-1 +ready .*127\.\d+\.\d+\.\d+ +web$/m);
    expect(logs.stdout).toMatch(/app-1 web\/START \| started$/m);
    expect(task).toMatchObject({
      state: 'done',
      attempts: 1,
      tail: expect.arrayContaining(['started']),
      input: { config: { 'ssh-auth': { password: '(secret)' } } },
    });
    expect(shell).toMatchObject({ code: 7, stdout: 'a b\n' });

    const tree = join(stack.folder, 'tree');
    await mkdir(join(tree, 'in side'), { recursive: true });
    await writeFile(join(tree, 'in side', 'a\nb'), 'content');
    expect(await json('cp', `${tree}/.`, 'shown:app-1:there')).toMatchObject({ files: 1, bytes: 7 });
    expect(await run('cp', 'shown:app-1:there', join(stack.folder, 'back'))).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await readFile(join(stack.folder, 'back', 'in side', 'a\nb'), 'utf8')).toBe('content');
    expect(await run('cp', 'shown:app-1:nowhere', tree)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot read nowhere on .*No such file/),
    });
    expect(await readdir(tree)).toEqual(['in side']);

    const [nobody, noNode, noTask, noLog] = await Promise.all([
      run('status', 'nobody'),
      run('ssh', 'shown', 'app-9'),
      run('task', 'show', 'shown', 'app-9/START'),
      run('logs', 'shown', 'app-9'),
    ]);
    expect(nobody).toMatchObject({ code: 4, stderr: expect.stringContaining('next: heddle list') });
    expect(noNode).toMatchObject({ code: 4, stderr: expect.stringContaining('next: heddle nodes shown') });
    expect(noTask).toMatchObject({ code: 4, stderr: expect.stringContaining('app-1/web/START') });
    expect(noLog).toMatchObject({ code: 4 });
    await remove('shown');
    expect(await run('delete', 'shown', '--yes')).toMatchObject({ code: 4 });
  });

  it('shows the failure and the end of its output when it is held, and continues by retry', async () => {
    const mended = join(stack.folder, 'mended');
    const file = await write({
      name: 'held',
      start: String.raw`printf 'evil \033[2J\033]0;x\007name\n'; test -e ${mended} || { echo it is broken >&2; exit 9; }`,
    });
    const applied = await run('apply', file);
    expect(applied.code).toBe(1);
    expect(applied.stdout).toMatch(
      /app-1: START web failed .* \(ScriptFailed, exit code 9\)[^]*it is broken[^]*heddle logs held app-1 --service web --action START/,
    );
    expect(applied.stderr).toBe(
      'error[Held]: apply of held is held: 1 node failed, 4 of 5 tasks are done\nnext: heddle retry held\n',
    );
    const status = await run('status', 'held');
    await until('it is indexed as held', async () => / held /.test((await run('list')).stdout));
    expect((await run('list')).stdout).toMatch(
      /^CLUSTER .*REASON\nheld +held .* START of web on app-1 failed: .*exit code 9[^]*next: heddle status held/,
    );
    // A further apply tries the failed task again.
    const [logs, again, task] = await Promise.all([
      run('logs', 'held'),
      json('apply', file),
      json('task', 'show', 'held', 'app-1/web/START'),
    ]);
    expect(status.stdout).toContain('evil name');
    expect(status.stdout + logs.stdout).not.toContain('\u001b');
    expect(again).toMatchObject({
      operation: { state: 'held' },
      error: { code: 'Held', next: 'heddle retry held' },
      failures: [{ nodeId: 'app-1', exitCode: 9 }],
    });
    expect(task).toMatchObject({ state: 'failed', failure: { kind: 'ScriptFailed', exitCode: 9 } });
    expect(await run('replace', 'held', 'app-1')).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(
        /^operation \d+ is held, and continues with the replacement within its own/,
      ),
    });
    await writeFile(mended, '');
    expect(await run('retry', 'held')).toMatchObject({ code: 0 });
    expect(await run('retry', 'held')).toMatchObject({ code: 3 });
    await remove('held');
  });

  it('refuses what the workers lack with file, line and column, and creates nothing', async () => {
    const file = await write({ name: 'wrong', start: 'true', provider: 'lokal' });
    const applied = await run('apply', file);
    expect(applied.code).toBe(2);
    expect(applied.stderr).toMatch(
      /wrong\.yaml:6:\d+: nodes\.app\.provider: names provider "lokal", which the workers do not have/,
    );
    expect(await run('status', 'wrong')).toMatchObject({ code: 4 });
  });

  it('continues when the waiting user presses Ctrl-C, and after the time limit of a wait', async () => {
    const gate = join(stack.folder, 'gate');
    const file = await write({ name: 'waiting', start: `while [ ! -e ${gate} ]; do sleep 0.05; done` });
    const applying = startHeddle(['apply', file], settings());
    await until('START to run', () => /INSTALL web done/.test(applying.stdout()));
    applying.child.kill('SIGINT');
    expect(await applying.ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('next: heddle status waiting --watch'),
    });
    expect(await run('apply', file, '--timeout', '500ms')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/operation 1 of waiting did not end within 0\.5 s, and continues/),
    });
    const watching = startHeddle(['status', 'waiting', '--watch'], settings());
    await writeFile(gate, '');
    expect(await watching.ended).toMatchObject({ code: 0 });
    expect(await run('delete', 'waiting', '--yes', '--no-wait')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('next: heddle status waiting --watch'),
    });
  });

  it('reports it as healthy by doctor, which shows how run folders are bounded and measured', async () => {
    await run('apply', await write({ name: 'folders', start: 'true' }));
    // Other tests may have left an orphaned machine.
    const { code, stdout } = await run('doctor', '--severity', 'fail');
    expect(stdout).not.toMatch(/^fail/m);
    expect(stdout).toMatch(/^ok +encryption +.*all running workflows/m);
    expect(stdout).toMatch(/^(ok|warn) +sweep /m);
    expect(stdout).toMatch(/^ok +run folders +at most 1000 for each user of a node, 1024 MiB, for 90 days/m);
    expect(code).toBe(0);
    const command = /heddle exec NAME -- '(.*)'$/m.exec(stdout)?.[1] ?? '';
    const measured = await run('exec', 'folders', '--', command);
    // INSTALL, START, and the command itself.
    expect(measured).toMatchObject({ code: 0, stdout: expect.stringMatching(/\b3$[^]*\d+\s+\.$/m) });
    await remove('folders');
  });
});
