import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import { poolWorkflowId } from '../../../src/model/names.js';
import type { LabelSpec } from '../../../src/model/pool/spec.js';
import type { ClusterSpec } from '../../../src/model/cluster/spec.js';
import { parseSpec } from '../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../src/schema/problem.js';
import { openHarness, type Harness } from '../../harness/faults/harness.js';
import { until } from '../../harness/until.js';

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

async function openPool(name: string, limit: number, label: Partial<LabelSpec> = {}): Promise<PoolClient> {
  const pool = new PoolClient(harness.client.temporal, name, { by: 'test' });
  await pool.apply({
    name,
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete', ...label } },
    providerPools: {
      main: {
        provider: 'memory',
        priority: 100,
        limits: { nodes: limit },
        attributes: { zone: 'z1' },
        launchAttempts: 2,
        labels: { a: { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } } },
      },
    },
  });
  return pool;
}

function clusterSpec(name: string, pool: string, more: object = {}): ClusterSpec {
  const parsed = parseSpec({ name, nodes: { app: { count: 1, pool, label: 'a', ...more } } });
  if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
  return parsed.spec;
}

async function apply(spec: ClusterSpec): Promise<string> {
  const { operation } = await harness.client.apply(spec);
  return (await harness.client.waitFor(spec.name, operation)).operation.state;
}

async function remove(name: string): Promise<void> {
  const { operation = '' } = await harness.client.delete(name);
  expect((await harness.client.waitFor(name, operation)).operation.state).toBe('done');
}

const states = async (pool: PoolClient): Promise<readonly string[]> =>
  (await pool.nodes()).map(({ state }) => state);
const nodeOf = async (cluster: string, node = 'app-1'): Promise<unknown> =>
  (await harness.client.payload(cluster, node))['pool'];

/** No machine is left, and none was made twice. */
async function checkEnd(pool: PoolClient): Promise<void> {
  await pool.deletePool();
  await pool.gone();
  expect(harness.cloud.machines(poolWorkflowId(pool.name))).toEqual([]);
  const made = harness.cloud.made(poolWorkflowId(pool.name));
  expect(new Set(made).size).toBe(made.length);
}

describe('a cluster on nodes of a pool', () => {
  it.concurrent('is allocated ready nodes, and returns them for reuse', async () => {
    const pool = await openPool('allocated', 3, { onReturn: 'reuse', minReady: 2 });
    await until(
      'two ready nodes',
      async () => (await states(pool)).filter((state) => state === 'ready').length === 2,
    );
    expect(await apply(clusterSpec('draws', 'allocated', { count: 2 }))).toBe('done');
    const machines = harness.cloud.machines('pool/allocated').map(({ id }) => id);
    for (const node of ['app-1', 'app-2']) {
      const payload = await harness.client.payload('draws', node);
      expect(payload).toMatchObject({
        hostname: `draws-${node}`,
        'ssh-port': 22,
        pool: { name: 'allocated', label: 'a', attributes: { zone: 'z1' } },
      });
      expect(payload['providerid']).toMatch(new RegExp(`^allocated/[0-9a-f-]{36}/${node}/[12]$`));
    }
    expect(
      (await pool.requests()).map(({ state, requester, expiresAt }) => ({ state, requester, expiresAt })),
    ).toEqual([
      { state: 'fulfilled', requester: 'cluster draws', expiresAt: undefined },
      { state: 'fulfilled', requester: 'cluster draws', expiresAt: undefined },
    ]);
    await remove('draws');
    expect(await apply(clusterSpec('draws-again', 'allocated', { count: 2 }))).toBe('done');
    expect(harness.cloud.machines('pool/allocated').map(({ id }) => id)).toEqual(
      expect.arrayContaining(machines),
    );
    expect(harness.cloud.made('pool/allocated').length).toBeLessThanOrEqual(3);
    await remove('draws-again');
    await checkEnd(pool);
  });

  it.concurrent('waits while the pool is full; one that is deleted meanwhile leaves nothing behind, and the next one gets the node', async () => {
    const pool = await openPool('full', 1);
    expect(await apply(clusterSpec('first', 'full'))).toBe('done');
    await harness.client.apply(clusterSpec('second', 'full'));
    const third = await harness.client.apply(clusterSpec('third', 'full'));
    await until(
      'both wait',
      async () => (await pool.requests()).filter(({ state }) => state === 'requested').length === 2,
    );
    await remove('second');
    expect(
      (await pool.requests())
        .filter(({ requester }) => requester === 'cluster second')
        .map(({ state }) => state),
    ).toEqual(['returned']);
    await remove('first');
    expect((await harness.client.waitFor('third', third.operation)).operation.state).toBe('done');
    expect(await nodeOf('third')).toMatchObject({ node: 'a-2' });
    await remove('third');
    await checkEnd(pool);
  });

  it.concurrent('requests a node again that is replaced or was deleted from the pool', async () => {
    const pool = await openPool('again', 3);
    await apply(clusterSpec('changes', 'again'));
    expect(await nodeOf('changes')).toMatchObject({ node: 'a-1' });
    const { operation } = await harness.client.operate('changes', { kind: 'replace', nodes: ['app-1'] });
    expect((await harness.client.waitFor('changes', operation)).operation.state).toBe('done');
    expect(await nodeOf('changes')).toMatchObject({ node: 'a-2' });
    await pool.deleteNodes(['a-2']);
    expect(await apply(clusterSpec('changes', 'again'))).toBe('done');
    expect(await nodeOf('changes')).toMatchObject({ node: 'a-3' });
    await remove('changes');
    await checkEnd(pool);
  });

  it.concurrent('requests once, whatever answers are lost', async () => {
    const pool = await openPool('lossy', 3);
    const lose = async (): Promise<never> => {
      throw ApplicationFailure.retryable('the answer was lost', 'Retryable');
    };
    for (const action of ['CREATE', 'CONFIRM', 'DELETE'])
      harness.points.arm({ cluster: 'unheard', task: `app-1 - ${action}`, act: { after: lose } });
    expect(await apply(clusterSpec('unheard', 'lossy'))).toBe('done');
    expect(await states(pool)).toEqual(['in-use']);
    await remove('unheard');
    expect((await pool.requests()).map(({ state }) => state)).toEqual(['returned']);
    expect(harness.cloud.made('pool/lossy')).toHaveLength(1);
    await checkEnd(pool);
  });

  it.concurrent('regains its nodes after its workflow was terminated', async () => {
    const pool = await openPool('life', 2);
    await apply(clusterSpec('ended', 'life'));
    await harness.client.temporal.workflow.getHandle('cluster/ended').terminate('a test');
    expect(await apply(clusterSpec('ended', 'life'))).toBe('done');
    expect(await nodeOf('ended')).toMatchObject({ node: 'a-1' });
    await remove('ended');
    await checkEnd(pool);
  });

  it.concurrent('is held with the reason if the pool or label does not exist, or no provider pool can serve it', async () => {
    const pool = await openPool('small', 2);
    const failureOf = async (spec: ClusterSpec): Promise<unknown> => {
      expect(await apply(spec)).toBe('held');
      const { nodes } = await harness.client.status(spec.name);
      return nodes[0]?.failure;
    };
    expect(await failureOf(clusterSpec('lost', 'nowhere'))).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('pool nowhere does not exist'),
    });
    expect(await failureOf(clusterSpec('other', 'small', { label: 'b' }))).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('pool small has no label b; its labels are a'),
    });
    const spec = (await pool.spec()) ?? undefined;
    await expect(
      pool.apply({
        ...spec,
        providerPools: { main: { ...spec?.providerPools['main'], provider: 'pool' } },
      } as never),
    ).rejects.toThrow('names provider "pool", whose machines are nodes of pools');
    await pool.apply({
      ...spec,
      providerPools: { main: { ...spec?.providerPools['main'], limits: { nodes: 0 } } },
    } as never);
    expect(await failureOf(clusterSpec('off', 'small'))).toMatchObject({
      kind: 'Capacity',
      message: expect.stringContaining('main: is disabled'),
    });
    await checkEnd(pool);
  });
});
