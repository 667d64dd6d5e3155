import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { makeCluster, writeSpec } from '../harness/cli/spec.js';
import { startStack, type Stack } from '../harness/stack.js';

describe('while the only worker of a site is down', () => {
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

  const run = ({ folder }: Stack, ...words: readonly string[]): Promise<Ended> =>
    runHeddle(words, {
      distPath: inject('distPath'),
      env: {
        HEDDLE_CONFIG: join(folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: far.namespace,
      },
    });

  it('a plan warns that the machines were not probed and does not wait, and list names the site', async () => {
    const worker = await far.startWorker();
    const file = await writeSpec(far.folder, { name: 'web' });
    await makeCluster(far.client, file);
    await worker.kill();
    await near.startWorker();
    const warning =
      'no worker of site far polls queue heddle.far, so its machines were not probed and are shown as last seen';
    // It would exceed the limit of the test if it waited.
    expect(await far.client.probe('web', { patienceMs: 3_600_000 })).toEqual([warning]);
    expect((await run(near, 'plan', file)).stdout).toContain(`warning: ${warning}`);
    expect(JSON.parse((await run(far, 'list', '--json')).stdout)).toMatchObject({ unattendedSites: ['far'] });
    expect((await run(far, 'list')).stdout).toContain('no worker of site far is running, so its tasks wait');
    expect((await run(near, 'list')).stdout).not.toContain('no worker');
  });
});
