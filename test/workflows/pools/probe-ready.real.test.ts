import { afterAll, beforeAll, expect, it } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import { startStack, type Stack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => {
  await stack.stop();
});

it('a request gets another ready machine if the SSH server of the first one is dead, which is deleted', async () => {
  const worker = await stack.startWorker();
  const pool = new PoolClient(stack.client.temporal, 'probed', { by: 'test' });
  await pool.apply({
    name: 'probed',
    tenants: {},
    labels: { a: { minReady: 2, spareAge: 600, onReturn: 'delete' } },
    providerPools: {
      main: {
        provider: 'local',
        priority: 100,
        // No room for another one until the dead one is gone.
        limits: { nodes: 2 },
        attributes: {},
        launchAttempts: 3,
        probeAfter: 0.001,
        labels: { a: { hardware: 'tiny', image: 'host', fields: {}, uses: { nodes: 1 } } },
      },
    },
  });
  const ready = await until('two nodes are ready', async () => {
    const nodes = (await pool.nodes()).filter(({ state }) => state === 'ready');
    return nodes.length === 2 && nodes;
  });
  await stack.service.call('POST', `/v1/machines/${ready[0]?.providerid}/kill`);
  // Its deletion waits, so that it can be seen.
  const fault = await stack.service.arm({ fault: 'http', status: 503, operation: 'delete', count: 0 });
  expect(await pool.obtain(['a'])).toMatchObject({ state: 'fulfilled', nodes: [{ id: 'a-2' }] });
  const why = expect.stringMatching(/machine \S+: .*127\.\S+/) as string;
  await until('the dead one is given up', async () =>
    (await pool.nodes()).some(({ id, state }) => id === 'a-1' && state === 'deleting'),
  );
  expect((await pool.nodes()).find(({ id }) => id === 'a-1')).toMatchObject({ why });
  expect((await pool.view()).labels['a']?.lacks).toMatch(/^main: machine /);
  await stack.service.release(fault);
  await until('another one is ready in its place', async () =>
    (await pool.nodes()).some(({ id, state }) => id === 'a-3' && state === 'ready'),
  );
  await pool.deletePool();
  await pool.gone();
  await worker.stop();
});
