import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import { poolWorkflowId } from '../../../src/model/names.js';
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

async function open(name: string): Promise<PoolClient> {
  const pool = new PoolClient(harness.client.temporal, name, { by: 'test' });
  const offer = { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } };
  await pool.apply({
    name,
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete' } },
    providerPools: {
      main: {
        provider: 'memory',
        priority: 100,
        limits: {},
        attributes: {},
        launchAttempts: 3,
        labels: { a: offer },
      },
    },
  });
  return pool;
}

/** More than a pool has permits. */
const many = 70;

const made = (name: string): readonly string[] => harness.cloud.made(poolWorkflowId(name));
const there = (name: string): number => harness.cloud.machines(poolWorkflowId(name)).length;

/** The activities of a pool in all of its runs, the last run first. */
async function scheduled(
  name: string,
  runId?: string,
): Promise<readonly { readonly name: string; readonly withinS: number }[]> {
  const handle = harness.client.temporal.workflow.getHandle(poolWorkflowId(name), runId);
  const { events } = await handle.fetchHistory();
  const activitiesOfRun = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: activity }) =>
    activity?.activityType?.name == null
      ? []
      : [
          {
            name: activity.activityType.name,
            withinS: Number(activity.scheduleToCloseTimeout?.seconds ?? 0),
          },
        ],
  );
  const before = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  return before == null || before === ''
    ? activitiesOfRun
    : [...activitiesOfRun, ...(await scheduled(name, before))];
}

const activities = async (name: string): Promise<readonly string[]> =>
  (await scheduled(name)).map((activity) => activity.name);

describe('batched tasks', () => {
  it('create and delete many nodes with few activities; one that fails has its own result', async () => {
    const pool = await open('many');
    harness.cloud.beforeCreate('many-a-3', () => Promise.reject(new PluginError('Retryable', 'busy')));
    harness.cloud.beforeCreate('many-a-7', () =>
      Promise.reject(new PluginError('Capacity', 'no such machine is left')),
    );
    const asked = await Promise.allSettled(Array.from({ length: 30 }, async () => pool.obtain(['a'])));
    const got = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(asked.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))).toEqual([
      expect.stringContaining('CREATE a-7: no such machine is left'),
    ]);
    const nodes = got.map((request) => request.nodes?.[0]?.id);
    expect(new Set(nodes).size).toBe(29);
    expect(nodes).toContain('a-3');
    expect(new Set(got.map((request) => request.nodes?.[0]?.payload['ssh-host-key'])).size).toBe(29);
    // None was made twice, and none for the one that was refused.
    expect(made('many')).toHaveLength(29);
    expect(new Set(made('many')).size).toBe(29);
    await Promise.all(got.map(async ({ id }) => pool.return(id)));
    await until('all machines are gone', () => there('many') === 0);
    const done = await activities('many');
    expect(done).toEqual(expect.arrayContaining(['CREATE_BATCH', 'DELETE_BATCH']));
    // The one that was tried again, those that took the place of others, and whatever came one by one.
    expect(done.length).toBeLessThan(20);
    await pool.deletePool();
    await pool.gone();
  });

  it('continue when one of them is no longer needed', async () => {
    const pool = await open('some');
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const node of ['a-1', 'a-2']) harness.cloud.beforeCreate(`some-${node}`, () => released);
    const [first, second] = await Promise.all([pool.request(['a']), pool.request(['a'])]);
    await until('they are being made', async () => (await activities('some')).includes('CREATE_BATCH'));
    await pool.deleteNodes(['a-1']);
    release();
    expect(await pool.waitFor(second.id)).toMatchObject({ state: 'fulfilled', nodes: [{ id: 'a-2' }] });
    expect(await pool.waitFor(first.id)).toMatchObject({ state: 'fulfilled', nodes: [{ id: 'a-3' }] });
    await until('the machine of the first is gone', () => there('some') === 2);
    expect(made('some')).toHaveLength(3);
    await pool.deletePool();
    await pool.gone();
    expect(there('some')).toBe(0);
  });
});

describe('a deletion of nodes without a user', () => {
  it('leaves those that are in use by then, and says which it deletes', async () => {
    const pool = await open('spares');
    const [one, two] = await Promise.all([pool.obtain(['a']), pool.obtain(['a'])]);
    const inUse = [one, two].map(({ nodes }) => nodes?.[0]?.id ?? '');
    const [held = ''] = inUse;
    await pool.hold(held, 'it hangs');
    expect(await pool.deleteNodes(inUse, { withoutUser: true })).toEqual([]);
    expect((await pool.nodes()).map(({ state }) => state).toSorted()).toEqual(['hold', 'in-use']);
    expect(await pool.deleteNodes(inUse)).toEqual(inUse);
    await until('their machines are gone', () => there('spares') === 0);
    await pool.deletePool();
    await pool.gone();
  });
});

describe('deletions that the provider refuses', () => {
  it('keep up no launches, are bounded, and lose no machine', async () => {
    const pool = await open('keeps');
    const got = await Promise.all(Array.from({ length: many }, async () => pool.obtain(['a'])));
    harness.cloud.breakDeletes('pool/keeps');
    await Promise.all(got.map(async ({ id }) => pool.return(id)));
    const deletions = async () => (await scheduled('keeps')).filter(({ name }) => name === 'DELETE');
    await until('they are tried one by one', async () => (await deletions()).length >= 40);
    expect((await pool.obtain(['a'])).state).toBe('fulfilled');
    expect(there('keeps')).toBe(many + 1);
    expect((await pool.nodes()).filter(({ state }) => state === 'deleting')).toHaveLength(many);
    // Each of them gives its permit back after that, and waits without one.
    expect(new Set((await deletions()).map(({ withinS }) => withinS))).toEqual(new Set([130]));
    harness.cloud.mend('pool/keeps');
    await until('all are deleted', () => there('keeps') === 1);
    await pool.deletePool();
    await pool.gone();
    expect(there('keeps')).toBe(0);
  });

  it('a deletion without an id of the machine has the time limit of the action, since it waits for a lost CREATE', async () => {
    const pool = await open('unknown');
    const lose = (): Promise<never> => Promise.reject(new Error('the worker died'));
    for (let attempt = 0; attempt < 20; attempt += 1)
      harness.points.arm({ cluster: 'pool/unknown', task: 'a-1 - CREATE', act: { after: lose } });
    const { id } = await pool.request(['a']);
    await until('its machine was made', () => there('unknown') === 1);
    await pool.cancel(id);
    await pool.deleteNodes(['a-1']);
    const deletions = async () => (await scheduled('unknown')).filter(({ name }) => name === 'DELETE');
    await until('it is being deleted', async () => (await deletions()).length === 1);
    expect(await deletions()).toEqual([{ name: 'DELETE', withinS: 3_600 }]);
    harness.points.disarm('pool/unknown');
    await pool.deletePool();
    await pool.gone();
    expect(there('unknown')).toBe(0);
  });
});
