import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { PoolClient } from '../../../src/client/index.js';
import { readPoolsFile } from '../../../src/schema/pool/read.js';
import { openPoints, type Points } from '../../harness/chaos/points.js';
import { startStack, type Stack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { closed, nodes } from '../../harness/workflows/spec.js';
import { host, openGround, type Ground } from '../../harness/machine/ground.js';

describe('the machine of a node', () => {
  let stack: Stack;
  let ground: Ground;
  let points: Points;
  let worker: WorkerProcess;

  beforeAll(async () => {
    stack = await startStack();
    points = await openPoints(stack.folder, inject('distPath'));
    worker = await stack.startWorker('first', points.distPath);
    ground = openGround(stack);
  });

  const ledgerOf = (name: string): string => join(stack.folder, `ledger-${name}`);
  const linesOf = async (name: string): Promise<readonly string[]> =>
    (await readFile(ledgerOf(name), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

  /** The ledger of a cluster tells what its service did. */
  function specOf(name: string, count: number): ReturnType<typeof closed> {
    const script = (action: string): object => ({
      type: 'shell',
      fields: { script: `echo ${action} >>'${ledgerOf(name)}'; echo ${action} >"$HOME/${action}"` },
    });
    return closed({
      name,
      nodes: { app: nodes(count, ['shop']) },
      services: { shop: { actions: { install: script('install'), start: script('start') } } },
    });
  }

  async function cluster(name: string): Promise<void> {
    const { operation } = await stack.client.apply(specOf(name, 1));
    expect((await stack.client.waitFor(name, operation, { everyMs: 100 })).operation.state).toBe('done');
  }

  const machineOf = async (name: string): Promise<string> =>
    String((await stack.client.status(name)).nodes[0]?.providerid);

  async function atRest(name: string): Promise<void> {
    await until(`cluster ${name} is at rest`, async () => {
      const {
        lease,
        operation,
        queued,
        nodes: [node],
      } = await stack.client.status(name);
      return lease === undefined && operation === undefined && queued.length === 0 && node?.state === 'ready';
    });
  }

  it('is inspected while its cluster is busy, and switched while it is not; its services are started again', async () => {
    await cluster('web');
    await expect(ground.begin('web/app-9', { kind: 'status' })).rejects.toMatchObject({
      code: 'NotFound',
      message: expect.stringContaining('cluster web has no node app-9'),
    });
    const machine = await machineOf('web');
    const restart = await points.arm('before', 'START');
    const { operation } = await stack.client.operate('web', { kind: 'restart', services: [] });
    await until('the restart is under way', async () => (await restart.met()) !== undefined);
    expect((await ground.operate('web/app-1', { kind: 'power', verb: 'status' })).operation).toMatchObject({
      state: 'done',
      result: { power: { power: 'on' } },
    });
    const {
      operation: looked,
      machine: { name },
    } = await ground.operate('web/app-1', { kind: 'status' });
    expect(name).toBe('web/app-1');
    expect(looked).toMatchObject({ state: 'done', result: { status: { ssh: 1, rpower: 1 } } });
    const refused = await ground.operate('web/app-1', { kind: 'power', verb: 'reset' });
    expect(refused.operation).toMatchObject({
      state: 'failed',
      answer: 'not done',
      failure: {
        message: expect.stringMatching(new RegExp(`cluster web is busy with operation ${operation}`)),
      },
    });
    await restart.release();
    await stack.client.waitFor('web', operation, { everyMs: 100 });

    const starts = (await linesOf('web')).filter((line) => line === 'start').length;
    expect(
      (await ground.operate('web/app-1', { kind: 'power', verb: 'reset' })).operation.failure,
    ).toBeUndefined();
    await until(
      'what ran on it runs again',
      async () => (await linesOf('web')).filter((line) => line === 'start').length > starts,
    );
    await atRest('web');
    expect(await linesOf('web')).toEqual(['install', ...Array.from({ length: starts + 1 }, () => 'start')]);

    // Off is what was asked for, so nobody switches it on.
    await ground.operate('web/app-1', { kind: 'power', verb: 'off' });
    expect(
      (await ground.operate('web/app-1', { kind: 'power', verb: 'status' })).operation.result,
    ).toMatchObject({ power: { power: 'off' } });
    expect((await stack.client.status('web')).operation).toBeUndefined();
    await ground.operate('web/app-1', { kind: 'power', verb: 'on' });
    await atRest('web');
    expect(await machineOf('web')).toBe(machine);
  });

  it('is captured while it works, and loaded: then its services are installed again, whenever a worker dies', async () => {
    await cluster('shop');
    const machine = await machineOf('shop');
    const image = { name: 'shop', revision: '1' };
    expect(
      (await ground.operate('shop/app-1', { kind: 'capture', image, prove: true })).operation,
    ).toMatchObject({ state: 'done', result: { image, sizeMb: 1 } });
    await atRest('shop');
    expect(
      (await ground.operate('shop/app-1', { kind: 'capture', image, prove: true })).operation,
    ).toMatchObject({
      state: 'failed',
      failure: { message: expect.stringContaining('image shop@1 already exists') },
    });
    await atRest('shop');

    const before = (await linesOf('shop')).length;
    const write = await points.arm('after', 'LOAD');
    const load = await ground.begin('shop/app-1', { kind: 'load', image: host, force: true });
    await until('it is written', async () => (await write.met()) !== undefined);
    expect((await stack.client.status('shop')).lease).toMatchObject({
      nodeId: 'app-1',
      to: 'machine/shop/app-1',
    });
    await expect(ground.begin('shop/app-1', { kind: 'status' })).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringContaining('is busy'),
    });
    await worker.kill();
    await write.release();
    worker = await stack.startWorker('next', points.distPath);
    expect((await ground.end('shop/app-1', load)).operation).toMatchObject({
      state: 'done',
      result: { did: 'everything' },
    });
    await until('its services are carried out', async () => (await linesOf('shop')).length === before + 2);
    await atRest('shop');
    expect((await linesOf('shop')).slice(before)).toEqual(['install', 'start']);
    expect(await machineOf('shop')).toBe(machine);
    expect(
      (await stack.service.journal('load')).filter(
        ({ hostname, repeated }) => hostname === 'shop-app-1' && repeated !== true,
      ),
    ).toHaveLength(1);
    const { operation } = await stack.client.delete('shop');
    await stack.client.waitFor('shop', operation ?? '', { everyMs: 100 });
  });

  it('is kept when the steps after loading fail: nothing of its disk was written', async () => {
    await cluster('kept');
    const machine = await machineOf('kept');
    await ground.operate('kept/app-1', { kind: 'load', image: host, force: true });
    await atRest('kept');
    const before = (await linesOf('kept')).length;
    const post = await points.arm('before', 'POST_LOAD');
    const load = await ground.begin('kept/app-1', {
      kind: 'load',
      image: host,
      only: 'post-load',
      withinMs: 15_000,
    });
    await until('they are about to run', async () => (await post.met()) !== undefined);
    expect((await stack.client.status('kept')).lease?.rewrites).toBeUndefined();
    // A folder cannot be replaced by the record.
    await ground.onMachine('kept/app-1', 'cd; rm -f currentimage.txt; mkdir currentimage.txt');
    await post.release();
    expect((await ground.end('kept/app-1', load)).operation).toMatchObject({
      state: 'failed',
      failure: { action: 'POST_LOAD' },
    });
    await atRest('kept');
    expect(await machineOf('kept')).toBe(machine);
    const { history } = await stack.client.status('kept');
    expect(history.map(({ what }) => what).filter((what) => what.startsWith('replace'))).toEqual([]);
    // Whatever the steps disturbed runs again.
    expect((await linesOf('kept')).slice(before)).toEqual(['start']);
  });

  it('is kept when the steps after loading are cancelled half-way, and its services are started again', async () => {
    await cluster('cut-short');
    const machine = await machineOf('cut-short');
    await ground.operate('cut-short/app-1', { kind: 'load', image: host, force: true });
    await atRest('cut-short');
    const before = (await linesOf('cut-short')).length;
    const cancelAfter = async (only: object, state: string): Promise<void> => {
      const post = await points.arm('after', 'POST_LOAD');
      const load = await ground.begin('cut-short/app-1', { kind: 'load', image: host, ...only });
      await until('they have run', async () => (await post.met()) !== undefined);
      await stack.client.machines.cancel('cut-short/app-1');
      await post.release();
      const { operation, machine: after } = await ground.end('cut-short/app-1', load);
      expect(operation.state).toBe('cancelled');
      expect(after.state).toBe(state);
    };
    await cancelAfter({ only: 'post-load' }, 'failed');
    await until('they run again', async () => (await linesOf('cut-short')).length === before + 1);
    await atRest('cut-short');
    // The same for a load that finds its image without them.
    await ground.onMachine('cut-short/app-1', 'cd; sed -i /^vcld_post_load=/d currentimage.txt');
    await cancelAfter({}, 'in use');
    await until('they run again', async () => (await linesOf('cut-short')).length === before + 2);
    await atRest('cut-short');
    expect((await linesOf('cut-short')).slice(before)).toEqual(['start', 'start']);
    expect(await machineOf('cut-short')).toBe(machine);
  });

  it('is replaced if its disk has half an image', async () => {
    await cluster('half');
    const machine = await machineOf('half');
    const write = await points.arm('before', 'LOAD');
    const load = await ground.begin('half/app-1', { kind: 'load', image: host, force: true });
    await until('it is about to be written', async () => (await write.met()) !== undefined);
    await stack.service.arm({ fault: 'http', status: 503, operation: 'load', hostname: 'half-*', count: 0 });
    await stack.client.machines.cancel('half/app-1');
    await write.release();
    expect((await ground.end('half/app-1', load)).operation.state).not.toBe('done');
    await until('another machine has its place', async () => (await machineOf('half')) !== machine);
    await atRest('half');
    expect((await stack.service.machines()).some(({ id }) => id === machine)).toBe(false);
  });

  it('is replaced as well if the workflow that wrote its disk is terminated', async () => {
    await cluster('cut');
    const machine = await machineOf('cut');
    const write = await points.arm('after', 'LOAD');
    await ground.begin('cut/app-1', { kind: 'load', image: host, force: true });
    await until('it is written', async () => (await write.met()) !== undefined);
    await stack.client.temporal.workflow.getHandle('machine/cut/app-1').terminate('by hand');
    await write.release();
    // Whoever has the node is asked when somebody waits for it.
    await expect(stack.client.operate('cut', { kind: 'restart', services: [] })).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringContaining("'heddle machine cancel cut/app-1' to end it"),
    });
    await stack.client.apply(specOf('cut', 2), { queue: true });
    await until('another machine has its place', async () => (await machineOf('cut')) !== machine);
    await atRest('cut');
    // First the machine, by the spec of then; what waited is not undone by it.
    const { history, nodes: found } = await stack.client.status('cut');
    expect(history.map(({ what }) => what)).toEqual(['apply', 'replace app-1', 'apply']);
    expect(found.map(({ nodeId }) => nodeId)).toEqual(['app-1', 'app-2']);
    expect((await linesOf('cut')).filter((line) => line === 'install')).toHaveLength(3);
    expect((await stack.service.machines()).some(({ id }) => id === machine)).toBe(false);
  });

  it('is refused if it does not exist, and for other callers', async () => {
    for (const [name, message] of [
      ['nobody/app-1', 'cluster nobody does not exist'],
      ['pool/nobody/small-1', 'pool nobody does not exist'],
    ] as const)
      await expect(ground.begin(name, { kind: 'status' })).rejects.toMatchObject({
        code: 'NotFound',
        message: expect.stringContaining(message),
      });
    await expect(ground.begin('web/app-1', { kind: 'reserve', user: 'ada' })).rejects.toMatchObject({
      code: 'Invalid',
      message: expect.stringContaining('status, power, load, capture, unload'),
    });
    const pools = readPoolsFile(
      'pools: {ci: {labels: {small: {minReady: 1}}, providerPools: {main: {provider: local, labels: {small: {hardware: tiny, image: host}}}}}}',
      'pools.yaml',
    );
    if (!pools.ok) throw new Error(JSON.stringify(pools.problems));
    const pool = new PoolClient(stack.client.temporal, 'ci');
    const [spec] = pools.pools;
    if (spec === undefined) throw new Error('there is no pool');
    await pool.apply(spec);
    const node = await until(
      'a node is ready',
      async () => (await pool.nodes()).find(({ state }) => state === 'ready')?.id,
    );
    expect(
      (await ground.operate(`pool/ci/${node}`, { kind: 'power', verb: 'status' })).operation,
    ).toMatchObject({ state: 'done', result: { power: { power: 'on' } } });
    expect(
      (await ground.operate(`pool/ci/${node}`, { kind: 'power', verb: 'reset' })).operation.failure?.message,
    ).toMatch(/hold it first: heddle pool hold ci/);
    expect(
      (await ground.operate(`pool/ci/${node}`, { kind: 'load', image: host })).operation.failure?.message,
    ).toMatch(/replaced instead of rewritten/);
    await pool.hold(node, 'a look');
    expect(
      (await ground.operate(`pool/ci/${node}`, { kind: 'power', verb: 'reset' })).operation.failure,
    ).toBeUndefined();
  });
});
