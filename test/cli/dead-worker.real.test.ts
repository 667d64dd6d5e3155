import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

/** A poll for tasks lasts a minute: without a sign of life, its worker could not be missed sooner. */
const limitMs = 55_000;

describe('a worker of another host that was killed', () => {
  let stack: Stack;
  beforeAll(async () => {
    const preload = new URL('../harness/other-host.mjs', import.meta.url).href;
    stack = await startStack({ env: { NODE_OPTIONS: `--import ${preload}` } });
  });

  const run = (...words: readonly string[]): Promise<Ended> =>
    runHeddle(words, {
      distPath: inject('distPath'),
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });

  it('is missed by doctor and list before the server forgets its polls', async () => {
    const worker = await stack.startWorker();
    const name = `${worker.pid}@another-host`;
    expect((await run('doctor')).stdout).toContain(`1 worker, ${name} last polled`);
    expect(JSON.parse((await run('list', '--json')).stdout)).toMatchObject({
      workers: [{ worker: name, build: expect.stringMatching(/^\d+\.\d+\.\d+\+[0-9a-f]{8}$/) }],
    });
    await worker.kill();
    const { stdout, code } = await until(
      'doctor misses the worker',
      async () => {
        const ended = await run('doctor');
        return ended.stdout.includes(`queue heddle (workflows): ${name}`) &&
          !ended.stdout.includes('1 worker,')
          ? ended
          : undefined;
      },
      limitMs,
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(/fail +workers +queue heddle \(workflows\): .* ago; it seems to be gone/);
    expect(stdout).not.toContain('All checks passed.');
    expect((await run('list')).stdout).toContain('no worker is running');
  });

  it('is alive while it polls, however long that takes', async () => {
    const worker = await stack.startWorker('second');
    const name = `${worker.pid}@another-host`;
    // Longer than a worker without a sign of life is taken for alive.
    const end = Date.now() + 35_000;
    await until('the time is over', () => Date.now() > end);
    expect((await run('doctor')).stdout).toMatch(
      new RegExp(`ok +workers +queue heddle \\(workflows\\): 1 worker, ${name} last polled`),
    );
    await worker.stop();
  });
});
