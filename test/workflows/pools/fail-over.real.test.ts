import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import type { ProviderPoolSpec } from '../../../src/model/pool/spec.js';
import { PluginError } from '../../../src/plugins/errors.js';
import { openHarness, type Harness } from '../../harness/faults/harness.js';
import { until } from '../../harness/until.js';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
});
afterAll(async () => {
  await harness.stop();
});

const place: ProviderPoolSpec = {
  provider: 'memory',
  priority: 1,
  limits: {},
  attributes: {},
  launchAttempts: 3,
  labels: { a: { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } } },
};

it('a pool serves a request from another provider pool if a provider answers with errors', async () => {
  const pool = new PoolClient(harness.client.temporal, 'outage', { by: 'test' });
  await pool.apply({
    name: 'outage',
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete' } },
    providerPools: { first: place, second: { ...place, priority: 2 } },
  });
  const fails = async (): Promise<never> => {
    throw ApplicationFailure.create({ message: 'status 503', type: 'Retryable', nextRetryDelay: 1_000 });
  };
  for (let attempt = 1; attempt <= 100; attempt += 1)
    harness.points.arm({ cluster: 'pool/outage', task: 'a-1 - CREATE', act: { before: fails } });
  const got = await pool.obtain(['a'], { patienceMs: 120_000 });
  expect(got).toMatchObject({ state: 'fulfilled', providerPool: 'second', nodes: [{ id: 'a-2' }] });
  expect(got.since - (got.createdAt ?? 0)).toBeLessThan(60_000);
  await until('the first node is gone', async () => (await pool.nodes()).length === 1);
  await pool.deletePool();
  await pool.gone();
});

it('a set keeps its nodes if one of its machines fails for good, and gets one from another provider pool', async () => {
  const pool = new PoolClient(harness.client.temporal, 'set', { by: 'test' });
  await pool.apply({
    name: 'set',
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete', failOver: 'node' } },
    providerPools: { first: place, second: { ...place, priority: 2 } },
  });
  harness.cloud.beforeCreate('set-a-2', () =>
    Promise.reject(new PluginError('Capacity', 'no such machine is left')),
  );
  const got = await pool.obtain(['a', 'a', 'a']);
  expect(got.nodes?.map(({ id, providerPool }) => `${id} ${providerPool}`)).toEqual([
    'a-1 first',
    'a-4 second',
    'a-3 first',
  ]);
  expect(harness.cloud.made('pool/set')).toHaveLength(3);
  await pool.deletePool();
  await pool.gone();
});
