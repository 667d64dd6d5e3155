import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Stack, startStack, type WorkerProcess } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ended, runHeddle, startHeddle } from '../harness/cli/run-heddle.js';

describe('heddle without a running worker', () => {
  let stack: Stack;
  let worker: WorkerProcess;
  beforeAll(async () => {
    stack = await startStack();
    worker = await stack.startWorker();
    await writeFile(
      join(stack.folder, 'left.yaml'),
      `name: left
nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [web]}}
services: {web: {actions: {start: {type: shell, fields: {script: 'true'}}}}}
`,
    );
    expect(await run('apply', 'left.yaml')).toMatchObject({ code: 0 });
    await worker.stop();
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

  it('shows by status and list what the server knows, and how to start a worker', async () => {
    const [status, shown, list, nodes] = await Promise.all([
      run('status', 'left'),
      run('status', 'left', '--json'),
      run('list'),
      run('nodes', 'left'),
    ]);
    expect(status).toMatchObject({
      code: 5,
      stdout: expect.stringContaining('cluster left: idle'),
      stderr: expect.stringContaining('next: heddle worker'),
    });
    expect(JSON.parse(shown.stdout)).toMatchObject({
      name: 'left',
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      phase: 'idle',
      partial: true,
      server: { workflows: [{ id: 'cluster/left' }], activities: [] },
      error: { code: 'NoWorker' },
    });
    expect(list).toMatchObject({ code: 0, stdout: expect.stringMatching(/^left +idle /m) });
    expect(nodes).toMatchObject({ code: 5 });
  });

  it('starts nothing by apply, and reports that no worker polls', async () => {
    const { code, stderr } = await run('apply', 'left.yaml');
    expect(code).toBe(5);
    expect(stderr).toMatch(/task queue "heddle"[^]*next: heddle worker/);
  });

  it('leaves a delete to the next worker', async () => {
    expect(await run('delete', 'left', '--yes')).toMatchObject({
      code: 5,
      stdout: expect.stringContaining('is stored for the next worker'),
    });
    const next = startHeddle(['worker'], settings());
    await until('the worker to be ready', () => next.stdout().includes('worker is ready'));
    await until('the cluster to be deleted', async () => (await stack.service.machines()).length === 0);
    await until('its workflow to end', async () =>
      (await run('status', 'left')).stdout.includes('the last cluster left'),
    );
    next.child.kill('SIGTERM');
    expect((await next.ended).code).toBe(0);
    expect(next.stdout()).toContain('worker has ended');
  });
});
