import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import type { LabelSpec, ProviderPoolSpec } from '../../../src/model/pool/spec.js';
import { until } from '../../harness/until.js';
import { openHarness, type Harness } from '../../harness/faults/harness.js';

/** Every workflow task replays the whole run. */
let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    cachedWorkflows: 0,
  });
});
afterAll(async () => {
  await harness.stop();
});

async function open(
  name: string,
  label: Partial<LabelSpec>,
  more: Partial<ProviderPoolSpec> = {},
): Promise<PoolClient> {
  const pool = new PoolClient(harness.client.temporal, name, { by: 'test' });
  await pool.apply({
    name,
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete', ...label } },
    providerPools: {
      main: {
        provider: 'memory',
        priority: 100,
        limits: {},
        attributes: {},
        launchAttempts: 3,
        probeAfter: 0.001,
        labels: { a: { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } } },
        ...more,
      },
    },
  });
  await until(
    'all nodes are ready',
    async () => (await pool.nodes()).filter(({ state }) => state === 'ready').length === label.minReady,
  );
  return pool;
}

async function lose(pool: PoolClient, id: string): Promise<void> {
  const node = (await pool.nodes()).find((one) => one.id === id);
  harness.cloud.lose(node?.providerid ?? '');
}

it('a request gets a ready node that answers, and the others are deleted', async () => {
  const pool = await open('answers', { minReady: 3 });
  await lose(pool, 'a-1');
  await lose(pool, 'a-2');
  expect(await pool.obtain(['a'])).toMatchObject({ state: 'fulfilled', nodes: [{ id: 'a-3' }] });
  await until('the dead ones are gone', async () =>
    (await pool.nodes()).every(({ id }) => id !== 'a-1' && id !== 'a-2'),
  );
  await pool.deletePool();
  await pool.gone();
});

it('a request gets a new node if no ready one answers', async () => {
  const pool = await open('silent', { minReady: 1 });
  await lose(pool, 'a-1');
  const [node] = (await pool.obtain(['a'])).nodes ?? [];
  expect(node?.id).not.toBe('a-1');
  await pool.deletePool();
  await pool.gone();
});

it('a set is handed out when each of its ready nodes has answered', async () => {
  const pool = await open('set', { minReady: 2 });
  expect(await pool.obtain(['a', 'a', 'a'])).toMatchObject({ state: 'fulfilled' });
  await pool.deletePool();
  await pool.gone();
});
