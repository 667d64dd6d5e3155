import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runHeddle } from '../harness/cli/run-heddle.js';
import { makeCluster, writeSpec } from '../harness/cli/spec.js';
import { startStack, type Stack } from '../harness/stack.js';

describe('a plan while the only worker of a site is down', () => {
  let far: Stack;
  let near: Stack;
  beforeAll(async () => {
    const server = { temporalAddress: inject('temporalAddress'), distPath: inject('distPath') };
    far = await startStack({ ...server, config: { site: 'far' } });
    near = await startStack({
      ...server,
      namespace: far.namespace,
      config: { keys: { folder: join(far.folder, 'keys') } },
    });
  });
  afterAll(async () => {
    await near.stop();
    await far.stop();
  });

  it('warns that the machines were not probed, and does not wait for the worker', async () => {
    const worker = await far.startWorker();
    const file = await writeSpec(far.folder, { name: 'web' });
    await makeCluster(far.client, file);
    await worker.kill();
    await near.startWorker();
    const warning =
      'no worker of site far polls queue heddle.far, so its machines were not probed and are shown as last seen';
    // It would exceed the limit of the test if it waited.
    expect(await far.client.look('web', { patienceMs: 3_600_000 })).toEqual([warning]);
    const { stdout } = await runHeddle(['plan', file], {
      distPath: inject('distPath'),
      env: {
        HEDDLE_CONFIG: join(near.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: far.namespace,
      },
    });
    expect(stdout).toContain(`warning: ${warning}`);
  });
});
