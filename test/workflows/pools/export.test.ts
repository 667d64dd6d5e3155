import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import { poolWorkflowId } from '../../../src/model/names.js';
import { parseSpec } from '../../../src/schema/cluster/read.js';
import { clusterMessages } from '../../../src/workflows/messages.js';
import { openHarness, type Harness } from '../../harness/faults/harness.js';
import { until } from '../../harness/until.js';

vi.setConfig({ maxConcurrency: 10 });

/** Two namespaces with the machines of one account. */
let from: Harness;
let to: Harness;
beforeAll(async () => {
  const options = {
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  };
  from = await openHarness(options);
  to = await openHarness({ ...options, cloud: from.cloud });
});
afterAll(async () => {
  await to.stop();
  await from.stop();
});

const poolOf = (harness: Harness, name: string): PoolClient =>
  new PoolClient(harness.client.temporal, name, { by: 'test' });

async function openPool(name: string, minReady = 0): Promise<PoolClient> {
  const pool = poolOf(from, name);
  await pool.apply({
    name,
    tenants: {},
    labels: { a: { minReady, spareAge: 600, onReturn: 'delete' } },
    providerPools: {
      main: {
        provider: 'memory',
        priority: 100,
        limits: { nodes: 4 },
        attributes: {},
        launchAttempts: 2,
        labels: { a: { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } } },
      },
    },
  });
  return pool;
}

const machines = (name: string): readonly string[] =>
  from.cloud.machines(poolWorkflowId(name)).map(({ key }) => key);
const statesOf = async (pool: PoolClient): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries((await pool.nodes()).map(({ id, state }) => [id, state]));

/** No machine is left, and none was made twice. */
async function checkEnd(pool: PoolClient): Promise<void> {
  await pool.deletePool();
  await pool.gone();
  expect(machines(pool.name)).toEqual([]);
  const made = from.cloud.made(poolWorkflowId(pool.name));
  expect(new Set(made).size).toBe(made.length);
}

describe('an exported pool', () => {
  it.concurrent('moves to another namespace with its nodes, requests and logins', async () => {
    const source = await openPool('moved', 1);
    const taken = await source.obtain(['a'], { requester: 'job', leaseMs: 600_000 });
    await until('one is ready', async () => Object.values(await statesOf(source)).includes('ready'));
    const records = await source.export();
    const before = machines('moved');
    expect(before).toHaveLength(2);

    const target = poolOf(to, 'moved');
    expect(await target.restore(records)).toEqual({ unchanged: false });
    expect(await target.requests([taken.id])).toMatchObject([{ state: 'fulfilled', nodes: taken.nodes }]);
    expect(await target.renew(taken.id)).toBe(true);
    await target.return(taken.id);
    await until('its machine is gone', () => machines('moved').length === 1);
    const next = await target.obtain(['a'], { requester: 'job-2' });
    expect(before).toContain(machines('moved').find((key) => key.includes(next.nodes?.[0]?.id ?? '-')));
    // The source neither deletes nor replaces anything, and knows its machines for the sweep.
    expect(await source.view()).toMatchObject({ exported: { by: 'test' } });
    await expect(source.deletePool()).rejects.toMatchObject({ code: 'Refused' });
    await checkEnd(target);
  });

  it.concurrent('returns to the namespace that it was exported from', async () => {
    const source = await openPool('back');
    const { id } = await source.obtain(['a'], { requester: 'job' });
    const there = poolOf(to, 'back');
    await there.restore(await source.export());
    const records = await there.export();
    expect(await source.restore(records)).toEqual({ unchanged: false });
    expect(await source.restore(records)).toEqual({ unchanged: true });
    expect(await source.view()).toMatchObject({ restored: { from: records.exported.id } });
    await source.return(id);
    await checkEnd(source);
  });

  it.concurrent('refuses everything that would change its records, and goes on when it is cancelled', async () => {
    const pool = await openPool('stopped');
    const { id, nodes } = await pool.obtain(['a'], { requester: 'job' });
    const records = await pool.export();
    const refused = { code: 'Refused', message: expect.stringContaining('was exported by test') as string };
    await expect(pool.request(['a'])).rejects.toMatchObject(refused);
    await expect(pool.return(id)).rejects.toMatchObject(refused);
    await expect(pool.renew(id)).rejects.toMatchObject(refused);
    await expect(pool.deleteNodes([nodes?.[0]?.id ?? ''])).rejects.toMatchObject(refused);
    await expect(pool.apply((await pool.spec()) as never)).rejects.toMatchObject(refused);
    const reply = await from.client.temporal.workflow
      .getHandle(poolWorkflowId('stopped'))
      .query(clusterMessages.queries.node, nodes?.[0]?.id ?? '');
    expect(reply).toMatchObject({ is: 'here', busy: refused.message });
    expect(await pool.export()).toEqual(records);
    await expect(pool.restore(records)).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringContaining('pool stopped already exists') as string,
    });
    await pool.cancelExport();
    await pool.return(id);
    await until('its machine is gone', () => machines('stopped').length === 0);
    await checkEnd(pool);
  });

  it.concurrent('does not take over a configuration that was being checked when it was exported', async () => {
    const pool = await openPool('applied');
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    from.points.arm({ cluster: 'pool/applied', task: 'PLAN_POOL', act: { before: () => held } });
    const applying = openPool('applied', 1).then(
      () => undefined,
      (error: unknown) => error,
    );
    await until('it is being checked', () => from.points.isMet('pool/applied'));
    const records = await pool.export();
    release();
    expect(await applying).toMatchObject({
      code: 'Refused',
      message: expect.stringContaining('was exported by test') as string,
    });
    expect(await pool.export()).toEqual(records);
    await pool.cancelExport();
    expect((await pool.spec())?.labels['a']?.minReady).toBe(0);
    await checkEnd(pool);
  });

  it.concurrent('waits for a CREATE in flight, and the restored pool has its machine', async () => {
    const source = await openPool('in-flight');
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    from.points.arm({ cluster: 'pool/in-flight', task: 'a-1 - CREATE', act: { after: () => held } });
    const { id } = await source.request(['a'], { requester: 'job' });
    await until('it is being made', () => from.points.isMet('pool/in-flight'));
    let waited: readonly string[] = [];
    const exporting = source.export({ onWait: (nodes) => (waited = nodes) });
    await until('it waits', () => waited.includes('a-1'));
    release();
    const records = await exporting;
    const target = poolOf(to, 'in-flight');
    await target.restore(records);
    await target.waitFor(id);
    expect(from.cloud.made(poolWorkflowId('in-flight'))).toHaveLength(1);
    await checkEnd(target);
  });

  it.concurrent('has a machine once, when the response of its CREATE was lost', async () => {
    const source = await openPool('lost');
    const lose = (): Promise<never> => Promise.reject(new Error('the worker died'));
    for (let attempt = 0; attempt < 20; attempt += 1)
      from.points.arm({ cluster: 'pool/lost', task: 'a-1 - CREATE', act: { after: lose } });
    const { id } = await source.request(['a'], { requester: 'job' });
    await until('it was made', () => machines('lost').length === 1);
    const exporting = source.export();
    await until('it is exported', async () => (await source.view()).exported !== undefined);
    from.points.disarm('pool/lost');
    const target = poolOf(to, 'lost');
    await target.restore(await exporting);
    await target.waitFor(id);
    expect(from.cloud.made(poolWorkflowId('lost'))).toHaveLength(1);
    await checkEnd(target);
  });

  it.concurrent('is restored once, however often that is tried', async () => {
    const source = await openPool('twice');
    await source.obtain(['a'], { requester: 'job' });
    const records = await source.export();
    const target = poolOf(to, 'twice');
    const replies = await Promise.all([1, 2, 3].map(() => target.restore(records)));
    expect(replies.filter(({ unchanged }) => !unchanged)).toHaveLength(1);
    expect(await statesOf(target)).toEqual({ 'a-1': 'in-use' });
    await checkEnd(target);
  });

  it.concurrent('is not exported while a cluster has its nodes', async () => {
    const pool = await openPool('drawn');
    const parsed = parseSpec({ name: 'user', nodes: { app: { count: 1, pool: 'drawn', label: 'a' } } });
    if (!parsed.ok) throw new Error('the spec is wrong');
    const { operation } = await from.client.apply(parsed.spec);
    await from.client.waitFor('user', operation);
    await expect(pool.export()).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringContaining('clusters of this server use its nodes') as string,
    });
    const { operation: deletion = '' } = await from.client.delete('user');
    await from.client.waitFor('user', deletion);
    await checkEnd(pool);
  });
});
