import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OperateIntent } from '../../src/client/heddle-client.js';
import type { ApplyReply } from '../../src/client/index.js';
import { until } from '../harness/until.js';
import { cluster, openPostgres, type OpenedPostgres } from '../harness/examples/open-postgres.js';
import { home, primary } from '../harness/examples/postgres.js';

const replicas = ['replica-1', 'replica-2'] as const;

/** What happens to a cluster that stays as its file says: each step goes on from the one before. */
describe('operations on the PostgreSQL example', () => {
  let opened: OpenedPostgres;
  beforeAll(async () => {
    opened = await openPostgres();
  });
  beforeEach((context) => {
    context.skip(opened.obstacle !== undefined, opened.obstacle);
  });
  afterAll(async () => {
    await opened.close();
  });

  it('starts with a primary and replicas', async () => {
    await apply();
    await goesOn();
  });

  it('applies a setting to one node at a time', async () => {
    const { stack, example, servers } = opened;
    await example.edit('max_connections: 50', 'max_connections: 60');
    await finished(await stack.client.apply(example.spec(), { width: 1 }));
    for (const node of await servers.nodes())
      expect(await servers.sql(node, 'SHOW max_connections')).toEqual(['60']);
    await goesOn();
  });

  it('restarts its replicas one at a time under load, and the primary while they run on', async () => {
    const { servers } = opened;
    const before = await servers.startTimes();
    const written = await whileWriting(() =>
      operate({ kind: 'restart', services: ['postgres-replica'], width: 1 }),
    );
    expect(written).toBeGreaterThan(1);
    const between = await servers.startTimes();
    expect(between.map((time, index) => time === before[index])).toEqual([true, false, false]);
    await operate({ kind: 'restart', services: ['postgres'] });
    const after = await servers.startTimes();
    expect(after.map((time, index) => time === between[index])).toEqual([false, true, true]);
    await goesOn();
  });

  it('stops and starts', async () => {
    const { servers } = opened;
    await operate({ kind: 'stop', services: ['postgres', 'postgres-replica'] });
    for (const node of await servers.nodes())
      expect(await servers.shell(node, `[ ! -e ${home}/data/postmaster.pid ] && echo stopped`)).toBe(
        'stopped\n',
      );
    await operate({ kind: 'start', services: ['postgres-replica'] });
    await goesOn();
  });

  it('starts again by an apply after its machines were switched off and on', async () => {
    const { stack, servers } = opened;
    for (const node of await servers.nodes()) {
      const machine = `/v1/machines/${await machineOf(node)}`;
      for (const [power, state] of [
        ['off', 'stopped'],
        ['on', 'running'],
      ]) {
        await stack.service.call('POST', `${machine}/power`, { power });
        await until(
          `${node} is ${state}`,
          async () => ((await stack.service.call('GET', machine)) as { state: string }).state === state,
        );
      }
    }
    await apply();
    await goesOn();
  });

  it.each([
    ['replica', replicas[0]],
    ['primary', primary],
  ])('gets a new machine by an apply when that of a %s was deleted outside Heddle', async (_what, node) => {
    const lost = await machineOf(node);
    await opened.stack.service.call('DELETE', `/v1/machines/${lost}`);
    await until(`the machine of ${node} is gone`, async () =>
      (await opened.stack.service.machines()).every(({ id }) => id !== lost),
    );
    await apply();
    expect(await machineOf(node)).not.toBe(lost);
    await goesOn();
  });

  it.each([
    ['replica', replicas[1]],
    ['primary', primary],
  ])('replaces a %s on request', async (_what, node) => {
    const old = await machineOf(node);
    await operate({ kind: 'replace', nodes: [node] });
    expect(await machineOf(node)).not.toBe(old);
    await goesOn();
  });

  it('leaves no machine when it is deleted', async () => {
    const { operation = '' } = await opened.stack.client.delete(cluster);
    await opened.stack.client.waitFor(cluster, operation);
    expect(await opened.stack.service.machines()).toEqual([]);
  });

  async function apply(): Promise<void> {
    await finished(await opened.stack.client.apply(opened.example.spec()));
  }

  async function operate(intent: OperateIntent): Promise<void> {
    await finished(await opened.stack.client.operate(cluster, intent));
  }

  async function finished(reply: ApplyReply): Promise<void> {
    const { operation, status } = await opened.stack.client.waitFor(cluster, reply.operation);
    expect(
      status.nodes.flatMap(({ nodeId, failure }) => (failure === undefined ? [] : [{ nodeId, ...failure }])),
    ).toEqual([]);
    expect(operation.state).toBe('done');
  }

  /** Writes rows to the primary until the work has ended. Gives how often; fails if one write fails. */
  async function whileWriting(work: () => Promise<void>): Promise<number> {
    let ended = false;
    const write = async (): Promise<number> => {
      let writes = 0;
      for (; !ended; writes += 1) await opened.servers.writeRows();
      return writes;
    };
    const end = async (): Promise<void> => {
      await work().finally(() => (ended = true));
    };
    const [writes] = await Promise.all([write(), end()]);
    return writes;
  }

  /** Both replicas follow, new rows arrive there, and no row was lost on the way here. */
  async function goesOn(): Promise<void> {
    const { servers } = opened;
    await servers.streamTo(...replicas);
    await servers.writeRows();
    await servers.haveAllRows();
  }

  async function machineOf(node: string): Promise<string> {
    const status = await opened.stack.client.status(cluster);
    return status.nodes.find(({ nodeId }) => nodeId === node)?.providerid ?? '';
  }
});
