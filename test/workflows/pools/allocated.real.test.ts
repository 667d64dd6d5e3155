import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import { startStack, type Stack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { closed } from '../../harness/workflows/spec.js';

let stack: Stack;
let pool: PoolClient;
beforeAll(async () => {
  stack = await startStack({ config: { sweep: { every: '1h', minimumAge: '1ms', delete: true } } });
  pool = new PoolClient(stack.client.temporal, 'ci', { by: 'test' });
});
afterAll(async () => {
  await stack.stop();
});

async function applyPool(limit: number): Promise<void> {
  const offer = { hardware: 'tiny', image: 'host', fields: {}, uses: { nodes: 1 } };
  await pool.apply({
    name: 'ci',
    tenants: {},
    labels: {
      a: { minReady: 0, spareAge: 600, onReturn: 'reuse', cleanUp: { script: 'rm -f "$HOME/guest"' } },
    },
    providerPools: {
      main: {
        provider: 'local',
        priority: 100,
        limits: { nodes: limit },
        attributes: {},
        launchAttempts: 3,
        labels: { a: offer },
      },
    },
  });
}

const specOf = (name: string, count: number) =>
  closed({
    name,
    nodes: { app: { count, pool: 'ci', label: 'a', services: ['app'] } },
    services: {
      app: {
        actions: {
          start: {
            type: 'shell',
            fields: { script: `test ! -e "$HOME/guest"; echo ${name} >"$HOME/guest"` },
          },
        },
      },
    },
  });

async function done(name: string, operation: string): Promise<void> {
  const { operation: ended } = await stack.client.waitFor(name, operation);
  expect(ended, JSON.stringify(ended)).toMatchObject({ state: 'done' });
}

async function remove(name: string): Promise<void> {
  const { operation = '' } = await stack.client.delete(name);
  await done(name, operation);
}

const allocated = async (): Promise<number> =>
  (await pool.requests()).filter(({ tags, state }) => tags !== undefined && state === 'fulfilled').length;

describe('clusters on nodes of a pool, with real machines', () => {
  it('has one node for each although workers are killed, returns them cleaned, and the sweep reclaims those of a terminated cluster', async () => {
    let worker = await stack.startWorker('one');
    await applyPool(6);
    const { operation } = await stack.client.apply(specOf('web', 4));
    await until('some nodes were asked for', async () => (await pool.requests()).length > 0);
    await worker.kill();
    worker = await stack.startWorker('two');
    await until('one has its node', async () => (await allocated()) > 0);
    await worker.kill();
    worker = await stack.startWorker('three');
    await done('web', operation);
    expect(await allocated()).toBe(4);
    expect((await pool.nodes()).filter(({ state }) => state === 'in-use')).toHaveLength(4);
    const taken = await Promise.all(
      ['app-1', 'app-2', 'app-3', 'app-4'].map(
        async (node) => (await stack.client.payload('web', node))['ipaddress'],
      ),
    );
    expect(new Set(taken).size).toBe(4);

    // Two of them are given back, two go to another cluster: with what the first one left on them it would
    // not start.
    await remove('web');
    await done('next', (await stack.client.apply(specOf('next', 2))).operation);
    for (const node of ['app-1', 'app-2'])
      expect(taken).toContain((await stack.client.payload('next', node))['ipaddress']);

    // Deleted while one of its nodes waits for room, and after the worker died.
    await applyPool(2);
    await stack.client.apply(specOf('late', 3));
    await until('it waits', async () =>
      (await pool.requests()).some(
        ({ requester, state }) => requester === 'cluster late' && state === 'requested',
      ),
    );
    await worker.kill();
    worker = await stack.startWorker('four');
    await remove('late');
    expect(
      (await pool.requests())
        .filter(({ requester }) => requester === 'cluster late')
        .map(({ state }) => state),
    ).toEqual(['returned', 'returned', 'returned']);

    await stack.client.temporal.workflow.getHandle('cluster/next').terminate('by hand');
    await stack.client.sweep();
    const { deleted } = await stack.client.sweep();
    expect(deleted.map(({ account }) => account)).toEqual(['pool', 'pool']);
    expect(await allocated()).toBe(0);
    expect((await stack.client.sweep()).leaks).toEqual([]);
    await pool.deletePool();
    await pool.gone();
    expect((await stack.service.machines()).filter(({ state }) => state !== 'gone')).toEqual([]);
    await worker.stop();
  });
});
