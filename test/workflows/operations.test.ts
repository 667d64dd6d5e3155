import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeDoing } from '../../src/cli/cluster/node-text.js';
import type { OperateIntent } from '../../src/client/heddle-client.js';
import type { WaitResult } from '../../src/client/wait.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const patience = { everyMs: 100 } as const;

describe('operations on a running cluster', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    stack = await startStack();
    await stack.startWorker();
  });

  /** `web` needs `db` at run time; db stands on one node, web on two. */
  function twoTiers(name: string, more: object = {}): ClusterSpec {
    const service = (): object => ({
      install: ledger.script(),
      configure: ledger.script(),
      start: ledger.script(),
      stop: ledger.script(),
    });
    return closed({
      name,
      nodes: { db: nodes(1, ['db']), web: nodes(2, ['web']) },
      services: { db: { actions: service() }, web: { runtime: { requires: ['db'] }, actions: service() } },
      ...more,
    });
  }

  async function apply(spec: ClusterSpec, options: object = {}): Promise<WaitResult> {
    const { operation } = await stack.client.apply(spec, options);
    return stack.client.waitFor(spec.name, operation, patience);
  }

  async function operate(name: string, intent: OperateIntent): Promise<WaitResult> {
    const { operation } = await stack.client.operate(name, intent);
    return stack.client.waitFor(name, operation, patience);
  }

  /** What ran since a line was counted, without the cluster's name: `web-1 web START`. */
  async function ranSince(name: string, count: number): Promise<readonly string[]> {
    const lines = await ledger.lines(`${name} `);
    return lines
      .slice(count)
      .filter((line) => line.endsWith(' begin'))
      .map((line) => line.split(' ').slice(1, -1).join(' '));
  }

  it.concurrent('stop a service with its dependents; an apply leaves it stopped; start starts both in order', async () => {
    const { client } = stack;
    await apply(twoTiers('tiers'));
    let count = (await ledger.lines('tiers ')).length;
    const stopped = await operate('tiers', { kind: 'stop', services: ['db'] });
    expect(stopped.operation).toMatchObject({
      state: 'done',
      what: 'stop db',
      tasks: { done: 3, total: 3, failed: 0 },
    });
    const order = await ranSince('tiers', count);
    expect(order.toSorted()).toEqual(['db-1 db STOP', 'web-1 web STOP', 'web-2 web STOP']);
    expect(order.at(-1)).toBe('db-1 db STOP');
    expect(stopped.status.stopped).toEqual(expect.arrayContaining(['db', 'web']));
    count = (await ledger.lines('tiers ')).length;
    await apply(twoTiers('tiers', { config: { changed: true } }));
    expect((await ranSince('tiers', count)).toSorted()).toEqual([
      'db-1 db CONFIGURE',
      'web-1 web CONFIGURE',
      'web-2 web CONFIGURE',
    ]);
    count = (await ledger.lines('tiers ')).length;
    await operate('tiers', { kind: 'start', services: ['web'] });
    expect((await ranSince('tiers', count)).at(0)).toBe('db-1 db START');
    expect(await ranSince('tiers', count)).toHaveLength(3);
    expect((await client.status('tiers')).stopped).toEqual([]);
  });

  it.concurrent('restart a service with its dependents, rolling it alone and one node at a time', async () => {
    await apply(twoTiers('again'));
    let count = (await ledger.lines('again ')).length;
    await operate('again', { kind: 'restart', services: ['db'] });
    const order = await ranSince('again', count);
    expect(order).toHaveLength(6);
    expect(order[2]).toBe('db-1 db STOP');
    expect(order[3]).toBe('db-1 db START');
    count = (await ledger.lines('again ')).length;
    await operate('again', { kind: 'restart', services: ['web'], width: 1 });
    const rolled = await ranSince('again', count);
    const [first = '', second = ''] =
      rolled[0] === 'web-1 web STOP' ? ['web-1', 'web-2'] : ['web-2', 'web-1'];
    expect(rolled).toEqual([
      `${first} web STOP`,
      `${first} web START`,
      `${second} web STOP`,
      `${second} web START`,
    ]);
  });

  it.concurrent('configure named nodes again on request, with an optional restart', async () => {
    await apply(twoTiers('conf'));
    const count = (await ledger.lines('conf ')).length;
    await operate('conf', { kind: 'reconfigure', services: [] });
    expect((await ranSince('conf', count)).toSorted()).toEqual([
      'db-1 db CONFIGURE',
      'web-1 web CONFIGURE',
      'web-2 web CONFIGURE',
    ]);
    const later = (await ledger.lines('conf ')).length;
    await operate('conf', { kind: 'reconfigure', services: ['web'], nodes: ['web-2'], restart: true });
    expect(await ranSince('conf', later)).toEqual([
      'web-2 web STOP',
      'web-2 web CONFIGURE',
      'web-2 web START',
    ]);
  });

  it.concurrent('run a command once on each node; a failing one leaves the cluster unchanged', async () => {
    await apply(twoTiers('exec'));
    const file = join(folder, 'exec-ledger');
    const done = await operate('exec', {
      kind: 'exec',
      command: `echo "$HEDDLE_NODE" >>'${file}'; echo to say`,
    });
    expect(done.operation).toMatchObject({
      state: 'done',
      what: expect.stringContaining('exec: echo'),
      tasks: { done: 3 },
    });
    const failed = await operate('exec', {
      kind: 'exec',
      nodes: ['db-1'],
      command: 'echo broken >&2; exit 7',
    });
    expect(failed.operation).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('exit code 7'),
    });
    expect(failed.status.nodes.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready']);
    expect(failed.status.phase).toBe('idle');
  });

  it.concurrent('replace a node: a new machine, its services again, peers configured again', async () => {
    const before = await apply(twoTiers('swap'));
    const count = (await ledger.lines('swap ')).length;
    const done = await operate('swap', { kind: 'replace', nodes: ['web-2'] });
    expect(done.operation.state).toBe('done');
    const [old, fresh] = [before, done].map(({ status }) =>
      status.nodes.find(({ nodeId }) => nodeId === 'web-2'),
    );
    expect(fresh?.incarnation).toBeGreaterThan(old?.incarnation ?? 0);
    expect(fresh?.providerid).not.toBe(old?.providerid);
    expect(await ranSince('swap', count)).toEqual(
      expect.arrayContaining([
        'web-2 web INSTALL',
        'web-2 web START',
        'db-1 db CONFIGURE',
        'web-1 web CONFIGURE',
      ]),
    );
    await expect(stack.client.operate('swap', { kind: 'replace', nodes: ['web-9'] })).rejects.toThrow(
      'cluster swap has no node web-9',
    );
  });

  it.concurrent('pause between tasks and resume; the next operation waits in the queue', async () => {
    const { client } = stack;
    const spec = closed({
      name: 'pause',
      nodes: { app: nodes(1, ['app']) },
      services: { app: { actions: { install: ledger.script({ gate: 'pause' }), start: ledger.script() } } },
    });
    const { operation } = await client.apply(spec);
    await ledger.written('pause app-1 app INSTALL begin');
    await client.pause('pause');
    await expect(client.operate('pause', { kind: 'restart', services: ['app'] })).rejects.toThrow(
      'is busy with operation 1',
    );
    const queued = await client.operate('pause', { kind: 'exec', command: 'true' }, { queue: true });
    await ledger.open('pause');
    await ledger.written('pause app-1 app INSTALL end');
    const { phase, operation: shown, queued: waiting } = await client.status('pause');
    expect({ phase, by: shown?.paused?.by, waiting: waiting.map(({ what }) => what) }).toEqual({
      phase: 'paused',
      by: 'test',
      waiting: ['exec: true'],
    });
    await until('the next task to be shown as paused', async () =>
      (await client.status('pause')).nodes.some((node) => describeDoing(node) === 'START app is paused'),
    );
    expect(await ledger.lines('pause app-1 app START')).toEqual([]);
    await client.resume('pause');
    expect((await client.waitFor('pause', operation, patience)).operation.state).toBe('done');
    expect((await client.waitFor('pause', queued.operation, patience)).operation.state).toBe('done');
  });

  it.concurrent('end by cancel and keep what is complete; no half-created machine stays, and the next apply continues', async () => {
    const { client, service } = stack;
    const fault = await service
      .arm({
        operation: 'create',
        hold: 'after',
        match: { 'heddle-cluster': 'cease', 'heddle-node': 'web-2' },
      })
      .catch(() => undefined);
    const spec = closed({
      name: 'cease',
      nodes: { web: nodes(2, ['web']) },
      services: { web: { actions: { start: ledger.script({ gate: 'cease' }) } } },
    });
    const { operation } = await client.apply(spec);
    await ledger.written('cease web-1 web START begin');
    await client.cancel('cease');
    if (fault !== undefined) await service.release(fault);
    const { operation: ended, status } = await client.waitFor('cease', operation, patience);
    expect(ended).toMatchObject({ state: 'cancelled', reason: 'cancelled by test' });
    expect(status.phase).toBe('idle');
    const machines = async (): Promise<readonly unknown[]> =>
      (await service.machines()).filter((machine) => JSON.stringify(machine).includes('"cease"'));
    expect(await machines()).toHaveLength(status.nodes.length);
    await ledger.open('cease');
    expect((await apply(spec)).operation.state).toBe('done');
    expect(await machines()).toHaveLength(2);
  });

  it.concurrent('a cancellation of the workflow cancels the operation, repeatedly, and the cluster stays', async () => {
    const { client } = stack;
    const spec = (config: object): ClusterSpec =>
      closed({
        name: 'outside',
        config,
        nodes: { app: nodes(1, ['app']) },
        services: {
          app: { actions: { start: ledger.script(), configure: ledger.script({ gate: 'outside' }) } },
        },
      });
    for (const round of [1, 2]) {
      const { operation } = await client.apply(spec({ round }));
      await until(
        'the script runs',
        async () => (await ledger.lines('outside app-1 app CONFIGURE begin')).length === round,
      );
      await client.temporal.workflow.getHandle('cluster/outside').cancel();
      expect((await client.waitFor('outside', operation, patience)).operation).toMatchObject({
        state: 'cancelled',
        reason: 'cancelled by a cancellation of the workflow',
      });
    }
    await ledger.open('outside');
    expect((await apply(spec({ round: 2 }))).operation.state).toBe('done');
  });

  it.concurrent('roll back a change to the previous spec', async () => {
    const { client } = stack;
    await apply(twoTiers('back'));
    const broken = twoTiers('back', {
      services: {
        db: { actions: { start: ledger.script({ body: 'exit 3' }), stop: ledger.script() } },
        web: { runtime: { requires: ['db'] }, actions: { start: ledger.script() } },
      },
    });
    expect((await apply(broken)).operation.state).toBe('held');
    expect((await operate('back', { kind: 'rollback' })).operation.state).toBe('done');
    expect(Object.keys((await client.spec('back'))?.services['web']?.actions ?? {})).toContain('install');
  });

  it.concurrent('hold one that failed: a corrected apply replaces it, also while others wait', async () => {
    const { client } = stack;
    const spec = (name: string, body: string): ClusterSpec =>
      closed({
        name,
        nodes: { app: nodes(1, ['app']) },
        services: { app: { actions: { start: ledger.script({ body }) } } },
      });
    for (const name of ['corrected', 'promoted']) {
      expect((await apply(spec(name, 'exit 3'))).operation).toMatchObject({ id: '1', state: 'held' });
      await client.apply(spec(name, 'true'), { queue: true });
      await client.operate(name, { kind: 'restart', services: ['app'] }, { queue: true });
    }
    const other = await client.apply(spec('corrected', 'echo other'));
    // The queued apply of the same spec no longer waits for the end of the held one.
    const same = await client.apply(spec('promoted', 'true'));
    expect([other.operation, same.operation]).toEqual(['4', '2']);
    for (const [name, replacing, last] of [
      ['corrected', '4', '3'],
      ['promoted', '2', '3'],
    ] as const) {
      expect((await client.waitFor(name, replacing, patience)).operation.state).toBe('done');
      const { status } = await client.waitFor(name, last, patience);
      expect(status.history.map(({ id, state }) => `${id} ${state}`).toSorted()[0]).toBe('1 superseded');
      expect(status.history[0]).toMatchObject({ id: last, state: 'done' });
    }
  });

  it.concurrent('end with the spec that was requested last, also if it is that of the running one', async () => {
    const { client } = stack;
    const spec = (port: number): ClusterSpec =>
      closed({
        name: 'last',
        nodes: { app: nodes(1, ['app']) },
        services: { app: { actions: { start: ledger.script({ gate: 'last' }) } } },
        config: { port },
      });
    const first = await client.apply(spec(1));
    await ledger.written('last app-1 app START begin');
    expect(await client.apply(spec(1))).toMatchObject({ operation: first.operation, unchanged: true });
    await client.apply(spec(2), { queue: true });
    await expect(client.apply(spec(1))).rejects.toThrow(`is busy with operation ${first.operation}`);
    const last = await client.apply(spec(1), { queue: true });
    expect(last).toMatchObject({ operation: '3' });
    expect(last.unchanged).toBeUndefined();
    expect(await client.apply(spec(1), { queue: true })).toMatchObject({ operation: '3', unchanged: true });
    await ledger.open('last');
    expect((await client.waitFor('last', last.operation, patience)).operation.state).toBe('done');
    expect((await client.spec('last'))?.config).toEqual({ port: 1 });
  });

  it.concurrent('follow the policies: `rollback` rolls back, `continue` and `minimum` continue without the failed node', async () => {
    const good = (name: string, more: object, body: string): ClusterSpec =>
      closed({
        name,
        nodes: { app: nodes(3, ['app'], more) },
        services: { app: { actions: { install: ledger.script({ body }), start: ledger.script() } } },
        ...(name === 'goon' ? { onFailure: 'continue' } : {}),
      });
    const failing = 'if [ "$HEDDLE_NODE" = app-2 ]; then exit 3; fi';
    const went = await apply(good('goon', {}, failing));
    expect(went.operation).toMatchObject({
      state: 'done',
      reason: expect.stringContaining('went on without a node: INSTALL of app on app-2 failed'),
    });
    expect(went.status.nodes.map(({ state }) => state)).toEqual(['ready', 'failed', 'ready']);
    expect(went.operation.missing).toMatchObject({ count: 1, nodes: ['app-2'] });
    const fewer = await apply(good('fewer', { minimum: 2 }, failing));
    expect(fewer.operation).toMatchObject({ state: 'done', missing: { count: 1, nodes: ['app-2'] } });
    const few = await apply(good('few', { minimum: 3 }, failing));
    expect(few.operation.state).toBe('held');
    const byItself = (port: number, body: string): ClusterSpec =>
      closed({
        name: 'itself',
        onFailure: 'rollback',
        nodes: { app: nodes(1, ['app']) },
        services: { app: { actions: { start: ledger.script({ body }) } } },
        config: { port },
      });
    expect((await apply(byItself(80, ':'))).operation.state).toBe('done');
    expect((await apply(byItself(81, 'exit 3'))).operation.state).toBe('failed');
    await until(
      'it is back',
      async () => (await stack.client.status('itself')).history[0]?.kind === 'rollback',
    );
    expect((await stack.client.status('itself')).history[0]?.state).toBe('done');
    expect((await stack.client.spec('itself'))?.config).toEqual({ port: 80 });
  });
});
