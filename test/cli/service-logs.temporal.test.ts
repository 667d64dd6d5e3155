import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { heddleOn, startHeddle } from '../harness/cli/run-heddle.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';

describe('logs of a service', () => {
  let stack: Stack;
  let file: string;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
    file = join(stack.folder, 'app.log');
    await writeFile(file, 'one\ntwo\nthree\n');
    const start = { type: 'shell', fields: { script: 'true' } };
    const command = 'echo "$LINES lines on $HEDDLE_NODE"; [ -z "$FOLLOW" ] || exec sleep 1000';
    const spec = closed({
      name: 'web',
      nodes: { app: nodes(2, ['app', 'job']), lb: nodes(1, ['lb']) },
      services: {
        app: { logs: { files: [join(stack.folder, 'app*.log')] }, actions: { start } },
        job: { logs: { command }, actions: { start } },
        lb: { actions: { start } },
      },
    });
    const { operation } = await stack.client.apply(spec);
    expect((await stack.client.waitFor('web', operation)).operation.state).toBe('done');
  });
  const { run } = heddleOn(() => stack);
  const logs = (...words: readonly string[]): ReturnType<typeof run> =>
    run('logs', 'web', '--source', 'service', ...words);

  it('are the last lines of its files on each node, each after its name', async () => {
    const { code, stdout } = await logs('--service', 'app', '--tail', '2');
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n').toSorted()).toEqual([
      '[app-1] three',
      '[app-1] two',
      '[app-2] three',
      '[app-2] two',
    ]);
    expect(await logs('--service', 'app', '--nodes', 'app-2', '--tail', '1')).toMatchObject({
      code: 0,
      stdout: 'three\n',
    });
  });

  it('are what its command prints, also as records', async () => {
    const { stdout } = await logs('--service', 'job', '--json');
    const records = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly node: string; readonly text: string });
    expect(records.toSorted((one, other) => one.node.localeCompare(other.node))).toEqual(
      ['app-1', 'app-2'].map((node) => ({
        schemaVersion: 1,
        node,
        service: 'job',
        stream: 'stdout',
        text: `100 lines on ${node}`,
      })),
    );
  });

  it('are followed until the command is interrupted, which ends what runs on the nodes', async () => {
    const following = startHeddle(['logs', 'web', 'app-1', '--source', 'service', '--service', 'app', '-f'], {
      distPath: inject('distPath'),
      cwd: stack.folder,
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
    await until('the old lines are shown', () => following.stdout().includes('three'));
    await appendFile(file, 'four\n');
    await until('the new line is shown', () => following.stdout().includes('four'));
    following.child.kill('SIGINT');
    expect(await following.ended).toMatchObject({ code: 130, stdout: 'one\ntwo\nthree\nfour\n' });
  });

  it('are followed on nodes that join and leave, until the cluster is gone', async () => {
    const log = join(stack.folder, 'moving.log');
    const spec = (count: number) =>
      closed({
        name: 'moving',
        nodes: { app: nodes(count, ['app']) },
        services: {
          app: {
            logs: { command: `echo "begins on $HEDDLE_NODE"; exec tail -n "$LINES" \${FOLLOW:+-F} ${log}` },
            actions: { start: { type: 'shell', fields: { script: 'true' } } },
          },
        },
      });
    const apply = async (count: number): Promise<void> => {
      const { operation } = await stack.client.apply(spec(count));
      expect((await stack.client.waitFor('moving', operation)).operation.state).toBe('done');
    };
    await writeFile(log, '');
    await apply(1);
    const following = startHeddle(['logs', 'moving', '--source', 'service', '--service', 'app', '-f'], {
      distPath: inject('distPath'),
      cwd: stack.folder,
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
    await until('the first node is followed', () => following.stdout().includes('[app-1] begins on app-1'));
    await apply(2);
    await until('the second node is followed', () => following.stdout().includes('[app-2] begins on app-2'));
    await apply(1);
    await until('the second node is left', () => following.stderr().includes('app-2 has left the cluster'));
    await stack.client.delete('moving');
    const end = await following.ended;
    expect(end).toMatchObject({ code: 0, stderr: expect.stringContaining('cluster moving is gone') });
    expect(end.stderr).not.toContain('has no node');
  });

  it('are followed anew on a replaced machine, and until what reads them has ended on every node', async () => {
    const gate = join(stack.folder, 'ends');
    const wait = `[ "$HEDDLE_NODE" = app-1 ] || while [ ! -e ${gate} ]; do sleep 0.1; done`;
    const spec = closed({
      name: 'ends',
      nodes: { app: nodes(2, ['app']) },
      services: { app: { logs: { command: `echo read; ${wait}; exit 3` }, actions: {} } },
    });
    const { operation } = await stack.client.apply(spec);
    expect((await stack.client.waitFor('ends', operation)).operation.state).toBe('done');
    const following = startHeddle(['logs', 'ends', '--source', 'service', '--service', 'app', '-f'], {
      distPath: inject('distPath'),
      cwd: stack.folder,
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
    await until('one has ended', () => following.stderr().includes('app-1 is no longer followed'));
    await stack.client.operate('ends', { kind: 'replace', nodes: ['app-1'] });
    await until('the new machine is read', () => following.stdout().split('[app-1] read').length === 3);
    expect(following.stderr()).toContain('app-1 has a new machine');
    await writeFile(gate, '');
    expect(await following.ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing is left to follow'),
    });
  });

  it('are refused where the file does not name them, with what to do', async () => {
    expect(await logs('--service', 'lb')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(
        'add services.lb.logs, such as {files: [/var/log/lb.log]}, and apply it',
      ),
    });
    expect(await logs('--service', 'ap')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('has no service ap; it has app, job, lb'),
    });
    expect(await logs()).toMatchObject({ code: 2, stderr: expect.stringContaining('needs --service') });
    expect(await logs('--service', 'app', '--action', 'START')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--action selects logs of tasks'),
    });
    for (const option of ['--level=error', '--services=lb'])
      expect(await logs('--service', 'app', option)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('selects logs of tasks'),
      });
    expect(await logs('--service', 'app', '--nodes', 'lb-1')).toMatchObject({ code: 4 });
    expect(await logs('app-1', '--service', 'app', '--nodes', 'app-2')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('has no node that fits app-1 and --nodes app-2'),
    });
  });
});
