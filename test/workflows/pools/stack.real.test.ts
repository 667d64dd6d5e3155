import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import type { LabelSpec, PoolSpec, ProviderPoolSpec } from '../../../src/model/pool/spec.js';
import { startStack, type Stack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';

let stack: Stack;
/** Added to when their machines are known; workers read them when they start. */
const accounts: Record<string, object> = {};
beforeAll(async () => {
  stack = await startStack({ accounts });
});
afterAll(async () => {
  await stack.stop();
});

function specOf(
  name: string,
  label: Partial<LabelSpec> = {},
  more: Partial<ProviderPoolSpec> = {},
): PoolSpec {
  const offer = { hardware: 'tiny', image: 'host', fields: {}, uses: { nodes: 1, cores: 1 } };
  return {
    name,
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete', ...label } },
    providerPools: {
      main: {
        provider: 'local',
        priority: 100,
        limits: {},
        attributes: {},
        launchAttempts: 3,
        labels: { a: offer },
        ...more,
      },
    },
  };
}

const machinesOf = async (pool: string): Promise<readonly unknown[]> =>
  (await stack.service.machines()).filter(
    ({ tags, state }) =>
      state !== 'deleting' && (tags as Record<string, string>)['heddle-cluster'] === `pool/${pool}`,
  );
describe('pools on real machines', () => {
  it('serves all requests although the worker is killed while their nodes are created, and discards none', async () => {
    let worker = await stack.startWorker('one');
    const pool = new PoolClient(stack.client.temporal, 'killed', { by: 'test' });
    await pool.apply(specOf('killed'));
    const requests = await Promise.all(Array.from({ length: 20 }, () => pool.request(['a'])));
    await until('some machines are made', async () => (await machinesOf('killed')).length >= 5);
    await worker.kill();
    worker = await stack.startWorker('two');
    const got = await Promise.all(requests.map(({ id }) => pool.waitFor(id)));
    const nodes = got.flatMap((request) => request.nodes ?? []);
    expect(new Set(nodes.map(({ payload }) => payload['providerid'])).size).toBe(20);
    expect(await machinesOf('killed')).toHaveLength(20);
    // None was given up for another one.
    expect(nodes.map(({ id }) => id).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, index) => `a-${index + 1}`).toSorted(),
    );
    expect(nodes[0]?.payload).toMatchObject({
      'ssh-auth': { password: expect.any(String) },
      'ssh-host-key': expect.any(String),
    });
    // The sweep finds an owner for each of them.
    const { leaks, accounts } = await stack.client.sweep();
    expect(accounts).toMatchObject([
      { name: 'local', machines: 20 },
      { name: 'pool', machines: 0 },
    ]);
    expect(leaks).toEqual([]);
    await pool.deletePool();
    await pool.gone();
    expect(await machinesOf('killed')).toEqual([]);
    await worker.stop();
  });

  it('stays within the quota of the account, which it reads, and serves all requests in turn', async () => {
    const worker = await stack.startWorker('three');
    await stack.service.call('PUT', '/v1/quota', { machines: 3 });
    const pool = new PoolClient(stack.client.temporal, 'quota', { by: 'test' });
    await pool.apply(specOf('quota'));
    const asked = await Promise.all(Array.from({ length: 7 }, () => pool.request(['a'])));
    await until(
      'the quota is known',
      async () => (await pool.view()).providerPools['main']?.quota?.['nodes'] === 3,
    );
    const served = await Promise.all(
      asked.map(async ({ id }) => {
        const { nodes } = await pool.waitFor(id);
        expect((await machinesOf('quota')).length).toBeLessThanOrEqual(3);
        await pool.return(id);
        return nodes?.length;
      }),
    );
    expect(served).toEqual([1, 1, 1, 1, 1, 1, 1]);
    await pool.deletePool();
    await pool.gone();
    await worker.stop();
  });

  it('refuses hardware and images that the account does not have', async () => {
    const worker = await stack.startWorker('checks');
    const pool = new PoolClient(stack.client.temporal, 'unknown', { by: 'test' });
    const refused = specOf(
      'unknown',
      {},
      { labels: { a: { hardware: 'enormous', image: 'beos', fields: {}, uses: { nodes: 1 } } } },
    );
    const error = await pool.apply(refused).then(
      () => undefined,
      (cause: unknown) => String(cause),
    );
    expect(error).toContain(
      'providerPools.main.labels.a.hardware: provider local has no hardware "enormous"',
    );
    expect(error).toContain('providerPools.main.labels.a.image: provider local has no image "beos"');
    await worker.stop();
  });

  it('serves a request that waits for the quota once there is room, though nothing else happens', async () => {
    const worker = await stack.startWorker('raised');
    await stack.service.call('PUT', '/v1/quota', { machines: 1 });
    const pool = new PoolClient(stack.client.temporal, 'raised', { by: 'test' });
    await pool.apply(specOf('raised'));
    const first = await pool.request(['a']);
    await pool.waitFor(first.id);
    const second = await pool.request(['a']);
    await until('it waits for the quota', async () => {
      const [request] = await pool.requests([second.id]);
      return request?.waits?.includes('what the quota of account local leaves');
    });
    await stack.service.call('PUT', '/v1/quota', { machines: 2 });
    expect((await pool.waitFor(second.id)).nodes).toHaveLength(1);
    await pool.deletePool();
    await pool.gone();
    await worker.stop();
  });

  it('takes a ready node without a machine out of service, and creates another one', async () => {
    const worker = await stack.startWorker('four');
    await stack.service.call('PUT', '/v1/quota', { machines: 100 });
    const pool = new PoolClient(stack.client.temporal, 'checked', { by: 'test' });
    await pool.apply(specOf('checked', { minReady: 1 }, { checkEvery: 1 }));
    const first = await until('a ready node', async () =>
      (await pool.nodes()).find(({ state }) => state === 'ready'),
    );
    await stack.service.call('DELETE', `/v1/machines/${first.providerid}`);
    const second = await until('another ready node', async () =>
      (await pool.nodes()).find(({ state, id }) => state === 'ready' && id !== first.id),
    );
    expect(second.providerid).not.toBe(first.providerid);
    await pool.deletePool();
    await pool.gone();
    expect(await machinesOf('checked')).toEqual([]);
    await worker.stop();
  });

  it('takes a machine out of service while it does not answer, and back when it does', async () => {
    const { id } = (await stack.service.call('POST', '/v1/machines', {
      key: 'rack/one/1',
      token: 'token-of-one',
      hostname: 'one',
      flavor: 'tiny',
      image: 'host',
    })) as { readonly id: string };
    const machine = await until('the machine runs', async () => {
      const described = (await stack.service.call('GET', `/v1/machines/${id}`)) as Readonly<
        Record<string, unknown>
      >;
      return described['state'] === 'running' && described;
    });
    const { address, port, user, password, hostKey } = machine;
    accounts['rack'] = {
      type: 'static',
      fields: { machines: [{ name: 'one', address, port, user, password, hostKey }] },
    };
    const worker = await stack.startWorker('five');
    const pool = new PoolClient(stack.client.temporal, 'rack', { by: 'test' });
    const offer = { hardware: 'default', image: 'default', fields: {}, uses: { nodes: 1 } };
    await pool.apply({
      name: 'rack',
      tenants: {},
      labels: { a: { minReady: 1, spareAge: 600, onReturn: 'delete' } },
      providerPools: {
        main: {
          provider: 'rack',
          priority: 100,
          limits: { nodes: 1 },
          attributes: {},
          launchAttempts: 3,
          checkEvery: 1,
          keepUnwell: true,
          labels: { a: offer },
        },
      },
    });
    // A busy pool may be silent for a while.
    const stateIs = (state: string): Promise<unknown> =>
      until(`the node is ${state}`, async () =>
        (await pool.nodes().catch(() => [])).some((node) => node.state === state),
      );
    await stateIs('ready');
    await stack.service.call('POST', `/v1/machines/${id}/power`, { power: 'off' });
    await stateIs('failed');
    const asked = await pool.request(['a']);
    expect(asked.state).toBe('requested');
    await stack.service.call('POST', `/v1/machines/${id}/power`, { power: 'on' });
    expect((await pool.waitFor(asked.id)).nodes).toMatchObject([
      { id: 'a-1', payload: { providerid: 'one' } },
    ]);
    await pool.deletePool();
    await pool.gone();
    // It was not ours to make, and is there still.
    expect(await stack.service.call('GET', `/v1/machines/${id}`)).toMatchObject({ state: 'running' });
    await stack.service.call('DELETE', `/v1/machines/${id}`);
    await worker.stop();
  });
});
