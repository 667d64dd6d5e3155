import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { PoolClient } from '../../../src/client/index.js';
import { readPoolsFile } from '../../../src/schema/pool/read.js';
import { openPoints, type Points } from '../../harness/chaos/points.js';
import { startStack, type Stack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { closed, nodes } from '../../harness/workflows/spec.js';
import { type Ground, greeting, openGround } from '../../harness/image/ground.js';

describe('an image of an existing node', () => {
  let stack: Stack;
  let ground: Ground;
  let points: Points;
  let worker: WorkerProcess;

  beforeAll(async () => {
    stack = await startStack({ config: { periodicChecks: { every: '2s' }, builder: { builds: 20 } } });
    points = await openPoints(stack.folder, inject('distPath'));
    worker = await stack.startWorker('first', points.distPath);
    await stack.startBuilder('builder', points.distPath);
    ground = openGround(stack);
  });

  const ledgerOf = (name: string): string => join(stack.folder, `ledger-${name}`);
  const linesOf = async (name: string): Promise<readonly string[]> =>
    (await readFile(ledgerOf(name), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

  /** A cluster of one node, whose service leaves a file and tells of each start. */
  async function cluster(name: string): Promise<string> {
    const script = (text: string): object => ({ type: 'shell', fields: { script: text } });
    const actions = {
      install: script('echo shop >"$HOME/shop"'),
      start: script(`echo start >>'${ledgerOf(name)}'`),
    };
    const { operation } = await stack.client.apply(
      closed({ name, nodes: { app: nodes(1, ['shop']) }, services: { shop: { actions } } }),
    );
    expect((await stack.client.waitFor(name, operation, { everyMs: 100 })).operation.state).toBe('done');
    return machineOf(name);
  }

  const machineOf = async (name: string): Promise<string> =>
    String((await stack.client.status(name)).nodes[0]?.providerid);

  /** The node is the cluster's alone, and whatever it was given back with has been carried out. */
  async function atRest(name: string): Promise<void> {
    await until(
      `cluster ${name} is at rest`,
      async () => {
        const { lease, operation, queued } = await stack.client.status(name);
        return lease === undefined && operation === undefined && queued.length === 0;
      },
      120_000,
    );
  }

  it('contains the content of the node and of its services; the cluster keeps the node, and its services run again', async () => {
    const machine = await cluster('shop');
    const from = { cluster: 'shop', node: 'app-1' };
    const validate = { command: 'test "$(cat "$HOME/shop")" = shop && test "$(cat "$HOME/greeting")" = two' };
    await ground.apply('shop', {
      recipe: { from, services: ['greeting'] },
      ...greeting(ledgerOf('installed'), 'two'),
      validate,
    });
    const made = await ground.build('shop');
    expect(made).toMatchObject({
      state: 'ready',
      uploads: [{ provider: 'local', state: 'ready', image: 'shop@1' }],
      provenance: {
        source: 'node app-1 of cluster shop, with greeting',
        machine: expect.stringMatching(/\/app-1\/1$/),
      },
    });
    await atRest('shop');
    expect(await machineOf('shop')).toBe(machine);
    expect(await linesOf('shop')).toEqual(['start', 'start']);
    expect((await stack.client.status('shop')).history[0]).toMatchObject({
      kind: 'apply',
      state: 'done',
      by: expect.stringContaining('image/shop'),
    });
    // A second build carries its services out anew.
    expect(await ground.build('shop')).toMatchObject({ number: 2, state: 'ready' });
    expect(await linesOf('installed')).toHaveLength(2);
    await atRest('shop');
    expect(await machineOf('shop')).toBe(machine);
  });

  it('is refused while the node is gone or busy; while it is leased the cluster waits, and delete does not', async () => {
    await expect(
      ground.apply('none', { recipe: { from: { cluster: 'nobody', node: 'app-1' } } }),
    ).rejects.toThrow(/cluster nobody does not exist/);
    await cluster('busy');
    await expect(
      ground.apply('none', { recipe: { from: { cluster: 'busy', node: 'app-7' } } }),
    ).rejects.toThrow(/cluster busy has no node app-7; run 'heddle nodes busy'/);

    await ground.apply('busy', { recipe: { from: { cluster: 'busy', node: 'app-1' } }, validate: false });
    const start = await points.arm('before', 'START');
    const { operation } = await stack.client.operate('busy', { kind: 'restart', services: [] });
    await until('the restart is under way', async () => (await start.met()) !== undefined);
    await stack.client.images.build('busy');
    await until(
      'the build was refused',
      async () => (await ground.see('busy')).builds[0]?.state === 'failed',
    );
    expect((await ground.see('busy')).builds[0]?.why).toMatch(
      new RegExp(`cluster busy is busy with operation ${operation}`),
    );
    await start.release();
    await stack.client.waitFor('busy', operation, { everyMs: 100 });

    const captured = await points.arm('after', 'CAPTURE');
    await stack.client.images.build('busy');
    await until('it is captured', async () => (await captured.met()) !== undefined);
    expect((await stack.client.status('busy')).lease).toMatchObject({ nodeId: 'app-1', to: 'image/busy' });
    await expect(stack.client.operate('busy', { kind: 'restart', services: [] })).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringMatching(/app-1 of cluster busy is leased to image\/busy.*--queue/),
    });
    const { operation: deleted } = await stack.client.delete('busy');
    await stack.client.waitFor('busy', deleted ?? '', { everyMs: 100 });
    await captured.release();
    await until(
      'the build is over',
      async () => !['building', undefined].includes((await ground.see('busy')).builds[0]?.state),
    );
    await stack.client.images.delete('busy');
    await stack.client.images.gone('busy');
    expect(await ground.has('busy@2')).toBe(false);
  });

  it('survives the worker at each step; the node is switched on again, also after a cancelled build', async () => {
    const moments = [
      ['after', 'LEASE_NODE'],
      ['after', 'POWER_OFF'],
      ['before', 'CAPTURE'],
      ['after', 'CAPTURE'],
      ['before', 'POWER_ON'],
    ] as const;
    const names = moments.map((_, index) => `kill-${index + 1}`);
    const machines = await Promise.all(names.map((name) => cluster(name)));
    for (const name of names)
      await ground.apply(name, { recipe: { from: { cluster: name, node: 'app-1' } }, validate: false });
    const armed = await Promise.all(moments.map(([moment, action]) => points.arm(moment, action)));
    const asked = await Promise.all(names.map((name) => stack.client.images.build(name)));
    await until('a build at each of the points', async () =>
      (await Promise.all(armed.map((point) => point.met()))).every((pid) => pid !== undefined),
    );
    await worker.kill();
    await Promise.all(armed.map((point) => point.release()));
    worker = await stack.startWorker('next', points.distPath);
    const builds = await Promise.all(
      names.map((name, index) =>
        stack.client.images.waitForBuild(name, asked[index]?.build ?? 0, { everyMs: 200 }),
      ),
    );
    expect(builds.map(({ number, state, notes }) => ({ number, state, notes }))).toEqual(
      names.map(() => ({ number: 1, state: 'ready', notes: [] })),
    );
    for (const [index, name] of names.entries()) {
      await atRest(name);
      expect(await machineOf(name)).toBe(machines[index]);
      expect(await linesOf(name), name).toEqual(['start', 'start']);
    }
    expect(
      (await stack.service.journal('capture')).filter(
        ({ id, repeated }) => machines.includes(String(id)) && repeated !== true,
      ),
    ).toHaveLength(names.length);

    const capture = await points.arm('before', 'CAPTURE');
    await stack.client.images.build('kill-1');
    await until('it is about to be captured', async () => (await capture.met()) !== undefined);
    await stack.client.images.cancel('kill-1');
    await capture.release();
    await atRest('kill-1');
    expect(await machineOf('kill-1')).toBe(machines[0]);
    expect(await linesOf('kill-1')).toEqual(['start', 'start', 'start']);
    expect((await ground.see('kill-1')).builds[0]).toMatchObject({ number: 2, state: 'cancelled' });
  });

  it('returns the node when its holder was terminated and an operation waits for it', async () => {
    const machine = await cluster('left');
    await ground.apply('left', { recipe: { from: { cluster: 'left', node: 'app-1' } }, validate: false });
    const off = await points.arm('after', 'POWER_OFF');
    await stack.client.images.build('left');
    await until('it is switched off', async () => (await off.met()) !== undefined);
    await stack.client.temporal.workflow.getHandle('image/left').terminate('a person did so');
    await off.release();
    const { operation } = await stack.client.operate(
      'left',
      { kind: 'restart', services: [] },
      { queue: true },
    );
    expect((await stack.client.waitFor('left', operation, { everyMs: 100 })).operation.state).toBe('done');
    await atRest('left');
    expect(await machineOf('left')).toBe(machine);
    expect((await stack.client.status('left')).nodes[0]).toMatchObject({ state: 'ready', running: ['shop'] });
  });

  it('uses a held node of a pool, and leaves it held', async () => {
    const reading = readPoolsFile(
      JSON.stringify({
        pools: {
          ci: {
            labels: { small: { minReady: 1 } },
            providerPools: {
              main: {
                provider: 'local',
                limits: { nodes: 1 },
                labels: { small: { hardware: 'small', image: 'host' } },
              },
            },
          },
        },
      }),
      'pools.yaml',
    );
    if (!reading.ok) throw new Error('the pool is wrong');
    const pool = new PoolClient(stack.client.temporal, 'ci');
    for (const spec of reading.pools) await pool.apply(spec);
    const node = await until('a node is ready', async () =>
      (await pool.nodes()).find(({ state }) => state === 'ready'),
    );
    await ground.apply('held', { recipe: { from: { pool: 'ci', node: node.id } } });
    await stack.client.images.build('held');
    await until(
      'the build was refused',
      async () => (await ground.see('held')).builds[0]?.state === 'failed',
    );
    expect((await ground.see('held')).builds[0]?.why).toMatch(
      /node small-1 is ready; hold it first: heddle pool hold ci small-1/,
    );
    await pool.hold(node.id, 'its image');
    expect(await ground.build('held')).toMatchObject({ state: 'ready' });
    expect((await pool.nodes()).map(({ id, state }) => [id, state])).toEqual([[node.id, 'hold']]);
  });
});
