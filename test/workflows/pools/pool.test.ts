import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import { poolWorkflowId } from '../../../src/model/names.js';
import type { LabelSpec, OfferSpec, PoolSpec, ProviderPoolSpec } from '../../../src/model/pool/spec.js';
import { until } from '../../harness/until.js';
import { openHarness, type Harness } from '../../harness/faults/harness.js';

vi.setConfig({ maxConcurrency: 10 });

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

const offer: OfferSpec = { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } };

function specOf(
  name: string,
  more: Partial<ProviderPoolSpec> = {},
  label: Partial<LabelSpec> = {},
): PoolSpec {
  return {
    name,
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete', ...label } },
    providerPools: {
      main: {
        provider: 'memory',
        priority: 100,
        limits: {},
        attributes: { zone: 'z1' },
        launchAttempts: 3,
        labels: { a: offer },
        ...more,
      },
    },
  };
}

async function open(
  name: string,
  ...spec: Parameters<typeof specOf> extends [string, ...infer Rest] ? Rest : never
): Promise<PoolClient> {
  const pool = new PoolClient(harness.client.temporal, name, { by: 'test' });
  await pool.apply(specOf(name, ...spec));
  return pool;
}

const machines = (name: string): readonly string[] =>
  harness.cloud.machines(poolWorkflowId(name)).map(({ id }) => id);
const states = async (pool: PoolClient): Promise<readonly string[]> =>
  (await pool.nodes()).map(({ state }) => state);
const noMachineOf = (name: string): Promise<unknown> =>
  until(`no machine of ${name}`, () => machines(name).length === 0);
const ready = (pool: PoolClient, count: number): Promise<unknown> =>
  until(
    `${count} ready nodes`,
    async () => (await states(pool)).filter((state) => state === 'ready').length === count,
  );

/** No machine is left, and none was made twice. */
async function checkEnd(pool: PoolClient): Promise<void> {
  await pool.deletePool();
  await pool.gone();
  expect(machines(pool.name)).toEqual([]);
  const made = harness.cloud.made(poolWorkflowId(pool.name));
  expect(new Set(made).size).toBe(made.length);
}

describe('a pool', () => {
  it.concurrent('creates nodes on demand, allocates them, and deletes them when they are returned', async () => {
    const pool = await open('demand');
    const got = await pool.obtain(['a', 'a'], { requester: 'job-1', attributes: { build: 7 } });
    expect(got).toMatchObject({
      state: 'fulfilled',
      requester: 'job-1',
      providerPool: 'main',
      attributes: { build: 7 },
    });
    expect(got.nodes?.map(({ id, attributes }) => ({ id, attributes }))).toEqual([
      { id: 'a-1', attributes: { zone: 'z1' } },
      { id: 'a-2', attributes: { zone: 'z1' } },
    ]);
    expect(machines('demand').toSorted()).toEqual(
      got.nodes?.map(({ payload }) => payload['providerid']).toSorted(),
    );
    expect(got.nodes?.[0]?.payload).toMatchObject({ 'ssh-port': 22, hostname: 'demand-a-1' });
    expect(await states(pool)).toEqual(['in-use', 'in-use']);
    await pool.return(got.id);
    await noMachineOf('demand');
    await until('no nodes', async () => (await pool.nodes()).length === 0);
    expect(await pool.requests([got.id])).toMatchObject([{ state: 'returned' }]);
    await checkEnd(pool);
  });

  it.concurrent('returns a ready node with the answer, and creates another one', async () => {
    const pool = await open('warm', {}, { minReady: 1 });
    await ready(pool, 1);
    const got = await pool.request(['a']);
    expect(got).toMatchObject({ state: 'fulfilled', nodes: [{ id: 'a-1' }] });
    await ready(pool, 1);
    await checkEnd(pool);
  });

  it.concurrent('treats a repeated request as one', async () => {
    const pool = await open('twice');
    const first = await pool.request(['a'], { id: 'r1' });
    const second = await pool.request(['a'], { id: 'r1' });
    expect([first.id, second.id]).toEqual(['r1', 'r1']);
    await pool.waitFor('r1');
    expect(await pool.nodes()).toHaveLength(1);
    await checkEnd(pool);
  });

  it.concurrent('creates no more nodes than its limits allow; others wait, and are served when nodes are returned', async () => {
    const pool = await open('full', { limits: { nodes: 3 } });
    const got = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const request = await pool.obtain(['a']);
        expect(machines('full').length).toBeLessThanOrEqual(3);
        await pool.return(request.id);
        return request.state;
      }),
    );
    expect(got).toEqual(Array.from({ length: 12 }, () => 'fulfilled'));
    await checkEnd(pool);
  });

  it.concurrent('waits if the account has no quota left, and continues when capacity was freed', async () => {
    const pool = await open('quota');
    const first = await pool.obtain(['a']);
    harness.points.arm({
      cluster: 'pool/quota',
      task: 'a-2 - CREATE',
      act: {
        before: async () => {
          throw ApplicationFailure.nonRetryable('over quota', 'Quota');
        },
      },
    });
    const second = await pool.request(['a']);
    await until('it waits', async () => (await pool.requests([second.id]))[0]?.waits?.includes('over quota'));
    expect((await pool.view()).providerPools['main']?.paused).toContain('over quota');
    await pool.return(first.id);
    expect(await pool.waitFor(second.id)).toMatchObject({ state: 'fulfilled' });
    await checkEnd(pool);
  });

  it.concurrent('creates another machine for one that never boots, and gives the reason when none does', async () => {
    const pool = await open('broken', { launchAttempts: 2 });
    const dies = async (): Promise<never> => {
      throw ApplicationFailure.nonRetryable('never answered', 'Timeout');
    };
    harness.points.arm({ cluster: 'pool/broken', task: 'a-1 - CONFIRM', act: { before: dies } });
    expect((await pool.obtain(['a'])).nodes?.[0]?.id).toBe('a-2');
    for (const node of ['a-3', 'a-4'])
      harness.points.arm({ cluster: 'pool/broken', task: `${node} - CONFIRM`, act: { before: dies } });
    await expect(pool.obtain(['a'])).rejects.toThrow(/cannot be served: main: .*never answered/);
    await until('only the one in use is left', () => machines('broken').length === 1);
    await checkEnd(pool);
  });

  it.concurrent('reclaims nodes whose lease has ended, and leaves those whose lease is renewed', async () => {
    const pool = await open('lease');
    const [gone, kept] = await Promise.all([
      pool.obtain(['a'], { leaseMs: 1_500 }),
      pool.obtain(['a'], { leaseMs: 120_000 }),
    ]);
    await until(
      'the first lease is over',
      async () => (await pool.requests([gone.id]))[0]?.state === 'expired',
    );
    expect(await pool.renew(kept.id)).toBe(true);
    expect(await pool.renew(gone.id)).toBe(false);
    const [renewed] = await pool.requests([kept.id]);
    expect(renewed?.state).toBe('fulfilled');
    expect(renewed?.expiresAt).toBeGreaterThan(kept.expiresAt ?? Infinity);
    await checkEnd(pool);
  });

  it.concurrent('cleans a used node and allocates it again, or deletes it if that fails', async () => {
    const pool = await open(
      'clean',
      { limits: { nodes: 1 } },
      { onReturn: 'reuse', cleanUp: { script: 'rm -rf work' } },
    );
    for (let round = 1; round <= 2; round += 1) {
      const got = await pool.obtain(['a']);
      expect(got.nodes?.[0]?.id).toBe('a-1');
      await pool.return(got.id);
    }
    await ready(pool, 1);
    expect(harness.points.seen('pool/clean').filter((task) => task === 'a-1 - EXEC')).toHaveLength(2);
    harness.points.arm({
      cluster: 'pool/clean',
      task: 'a-1 - EXEC',
      act: {
        before: async () => {
          throw ApplicationFailure.nonRetryable('exit code 1', 'ScriptFailed');
        },
      },
    });
    const last = await pool.obtain(['a']);
    await pool.return(last.id);
    expect((await pool.obtain(['a'])).nodes?.[0]?.id).toBe('a-2');
    expect(await pool.failures()).toMatchObject([
      { stage: 'clean-up', why: expect.stringContaining('exit code 1') },
    ]);
    await checkEnd(pool);
    // The provider heard of it, once each; what it threw changed nothing.
    const heard = await until('all was heard', () =>
      Promise.resolve(harness.cloud.heard('pool/clean')).then((said) =>
        said.length >= 4 ? said : undefined,
      ),
    );
    expect(heard.map((text) => text.replace(/ .*\/(a-\d)\/1$/, ' $1')).toSorted()).toEqual([
      'deleted a-1',
      'deleted a-2',
      'reused a-1',
      'reused a-1',
    ]);
  });

  it.concurrent('keeps a held node after its request ended, and deletes it after the hold', async () => {
    const pool = await open('hold');
    const got = await pool.obtain(['a']);
    await pool.hold('a-1', 'the tests hang', 60_000);
    await pool.return(got.id);
    expect(await pool.nodes()).toMatchObject([
      { id: 'a-1', state: 'hold', hold: { by: 'test', comment: 'the tests hang' } },
    ]);
    await expect(pool.hold('a-1', 'again')).rejects.toThrow(/node a-1 is hold/);
    await pool.endHold('a-1');
    await noMachineOf('hold');
    await checkEnd(pool);
  });

  it.concurrent('replaces a node that a user deletes while it is being created', async () => {
    const pool = await open('deleted');
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    harness.points.arm({ cluster: 'pool/deleted', task: 'a-1 - CREATE', act: { after: () => held } });
    const asked = await pool.request(['a']);
    await until('CREATE is under way', () => machines('deleted').length === 1);
    await pool.deleteNodes(['a-1']);
    expect((await pool.waitFor(asked.id)).nodes?.[0]?.id).toBe('a-2');
    release();
    await until('the first machine is gone', () => machines('deleted').length === 1);
    await checkEnd(pool);
  });

  it.concurrent('loses nothing when it continues in a new run', async () => {
    const pool = await open('renewed', { limits: { nodes: 4 } }, { minReady: 1 });
    const handle = harness.client.temporal.workflow.getHandle('pool/renewed');
    const runs = new Set<string>();
    const jobs = Array.from({ length: 16 }, async () => {
      const request = await pool.obtain(['a']);
      await pool.return(request.id);
    });
    const all = Promise.all(jobs);
    let busy = true;
    void all.finally(() => {
      busy = false;
    });
    while (busy && runs.size < 6) {
      const { runId } = await handle.describe();
      if (!runs.has(runId)) await handle.cancel();
      runs.add(runId);
    }
    await all;
    expect(runs.size).toBeGreaterThan(1);
    await ready(pool, 1);
    await checkEnd(pool);
  });

  it.concurrent('applies another configuration: nodes in use stay, ready nodes that differ are replaced', async () => {
    const pool = await open('changed', {}, { minReady: 1 });
    await ready(pool, 1);
    const got = await pool.request(['a']);
    await ready(pool, 1);
    expect(await pool.apply(specOf('changed', {}, { minReady: 1 }))).toMatchObject({ unchanged: true });
    expect(
      await pool.apply(specOf('changed', { labels: { a: { ...offer, image: 'newer' } } }, { minReady: 1 })),
    ).toMatchObject({ unchanged: false });
    await until(
      'the ready one is new',
      async () =>
        (await pool.nodes())
          .map(({ id, state }) => `${id} ${state}`)
          .toSorted()
          .join(', ') === 'a-1 in-use, a-3 ready',
    );
    await pool.return(got.id);
    await until('the used one is gone', async () => (await pool.nodes()).length === 1);
    await checkEnd(pool);
  });

  it.concurrent('continues after any messages', async () => {
    const pool = await open('sent');
    const handle = harness.client.temporal.workflow.getHandle(poolWorkflowId('sent'));
    const nonsense: readonly [unknown][] = [
      [undefined],
      [null],
      [7],
      ['constructor'],
      [{ ids: 1, nodeIds: 1, nodeId: '__proto__' }],
    ];
    for (const update of [
      'configure',
      'request',
      'end',
      'renew',
      'priority',
      'hold',
      'endHold',
      'deleteNodes',
      'deletePool',
    ]) {
      for (const args of nonsense)
        await expect(handle.executeUpdate<void, [unknown]>(update, { args })).rejects.toThrow(
          'Workflow Update failed',
        );
    }
    for (const word of ['constructor', '__proto__']) {
      expect(await pool.obtain(['a'], { id: word, tenant: word })).toMatchObject({ state: 'fulfilled' });
      await expect(pool.deleteNodes([word])).rejects.toThrow(`pool sent has no node ${word}`);
      await pool.return(word);
      expect(await pool.renew(word)).toBe(false);
    }
    await checkEnd(pool);
  });

  it.concurrent('refuses invalid requests with a reason', async () => {
    const none = new PoolClient(harness.client.temporal, 'none', { by: 'test' });
    await expect(
      none.apply({
        ...specOf('none'),
        providerPools: {
          main: { ...(specOf('none').providerPools['main'] as ProviderPoolSpec), provider: 'nowhere' },
        },
      }),
    ).rejects.toThrow(
      'providerPools.main.provider: names provider "nowhere", which the workers do not have. Known: memory.',
    );
    await until(
      'nothing is left of it',
      async () =>
        (await harness.client.temporal.workflow.getHandle(poolWorkflowId('none')).describe()).status.name ===
        'COMPLETED',
    );
    const pool = await open('refuses');
    await expect(pool.request(['b'])).rejects.toThrow('pool refuses has no label b; its labels are a');
    await expect(pool.request(['a'], { providerPool: 'other' })).rejects.toThrow(
      'provider pool other does not exist; existing ones: main',
    );
    await expect(pool.request(['a'], { leaseMs: 5 })).rejects.toThrow(
      'leaseMs: is 5, and must be a whole number from 1000 to 2592000000',
    );
    await expect(pool.deleteNodes(['a-9'])).rejects.toMatchObject({
      code: 'NotFound',
      message: expect.stringContaining('pool refuses has no node a-9'),
    });
    await checkEnd(pool);
    await expect(pool.request(['a'])).rejects.toThrow(/pool refuses does not exist/);
  });
});
