import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { WaitResult } from '../../src/client/index.js';
import type { Stack } from '../harness/stack.js';
import type { Example } from '../harness/examples/example.js';
import { cluster, openPostgres, password, type OpenedPostgres } from '../harness/examples/open-postgres.js';
import { home, primary, type Servers } from '../harness/examples/postgres.js';
import { runsOf } from '../harness/examples/runs-of.js';

/** One life of one cluster: each step goes on from the one before, and after each the rows are there. */
describe('the PostgreSQL example', () => {
  let opened: OpenedPostgres;
  let stack: Stack;
  let example: Example;
  let servers: Servers;

  beforeAll(async () => {
    opened = await openPostgres();
    ({ stack, example, servers } = opened);
  });
  beforeEach((context) => {
    context.skip(opened.obstacle !== undefined, opened.obstacle);
  });
  afterAll(async () => {
    await opened.close();
  });

  it('starts with a primary, whose first machine gets no capacity, and two replicas that stream from it, each through its slot', async () => {
    await stack.service.arm({ fault: 'no-capacity', hostname: `*${primary}`, count: 1 });
    await apply();
    const { nodes } = await stack.client.status(cluster);
    expect(nodes.find(({ nodeId }) => nodeId === primary)?.incarnation).toBe(2);
    expect(await servers.nodes()).toEqual([primary, 'replica-1', 'replica-2']);
    await servers.streamTo('replica-1', 'replica-2');
    await servers.writeRows();
    await servers.haveAllRows();
  });

  it('admits replication by password only, and replicas take no writes', async () => {
    const status = await stack.client.status(cluster);
    const host = status.nodes.find(({ nodeId }) => nodeId === primary)?.ipaddress ?? '';
    const attempt = `PGPASSWORD=wrong psql -X -w -d "host=${host} user=replicator replication=true" -c IDENTIFY_SYSTEM`;
    await expect(servers.shell('replica-1', attempt)).rejects.toThrow('password authentication failed');
    await expect(servers.sql('replica-1', 'DELETE FROM note')).rejects.toThrow('read-only');
  });

  it('keeps the password out of logs, out of the environment of servers, and from other users of a node', async () => {
    const unsafe = await servers.shell(primary, `find ${home} /root/.heddle -type f -perm /077`);
    expect(unsafe).toBe('');
    const environment = await servers.shell(
      primary,
      `tr '\\0' '\\n' <"/proc/$(head -n 1 ${home}/data/postmaster.pid)/environ"`,
    );
    expect(environment).toContain('HEDDLE_NODE=primary-1');
    expect(environment).not.toContain('REPLICATION_PASSWORD');
    expect(opened.worker.output()).not.toContain(password);
    expect(
      spawnSync('grep', ['-rlF', password, opened.worker.dataFolder], { encoding: 'utf8' }),
    ).toMatchObject({ status: 1, stdout: '' });
  });

  // Before any node was removed: later nodes have higher incarnations.
  it('creates no empty primary in another group while the replicas with the data are stopped', async () => {
    const rows = await servers.sql(primary, 'SELECT count(*) FROM note');
    await operate('stop');
    await example.edit('  primary: {count: 1', '  main: {count: 1');
    const { operation, status } = await outcome();
    expect(operation.state).toBe('held');
    expect(
      status.nodes.flatMap(({ nodeId, incarnation, failure }) =>
        failure === undefined ? [] : [`${nodeId}#${incarnation} ${failure.action} ${failure.stderr}`],
      ),
    ).toEqual([expect.stringContaining('main-1#1 INITIALIZE no replica runs that could give the data')]);
    await servers.revive('replica-1');
    await servers.revive('replica-2');
    const retried = await stack.client.retry(cluster);
    expect((await stack.client.waitFor(cluster, retried.operation)).operation.state).toBe('done');
    await operate('start');
    expect(await servers.sql('main-1', 'SELECT count(*) FROM note')).toEqual(rows);
  });

  it('takes the data along when its group is renamed while replicas run', async () => {
    await example.edit('  main: {count: 1', '  primary: {count: 1');
    await apply();
    await servers.streamTo('replica-1', 'replica-2');
    await servers.writeRows();
    await servers.haveAllRows();
  });

  it('accepts a third replica, which copies the existing data', async () => {
    await example.edit('replica: {count: 2', 'replica: {count: 3');
    await apply();
    await servers.streamTo('replica-1', 'replica-2', 'replica-3');
    await servers.writeRows();
    await servers.haveAllRows();
  });

  it('removes a replica and its slot', async () => {
    await example.edit('replica: {count: 3', 'replica: {count: 2');
    await apply();
    expect(await servers.nodes()).toEqual([primary, 'replica-1', 'replica-2']);
    await servers.streamTo('replica-1', 'replica-2');
    await servers.writeRows();
    await servers.haveAllRows();
  });

  it('restarts its servers for a setting that needs it, in any order of nodes', async () => {
    for (const [from, to] of [
      [50, 80],
      [80, 40],
    ]) {
      await example.edit(`max_connections: ${from}`, `max_connections: ${to}`);
      await apply();
      expect(await servers.sql(primary, 'SHOW max_connections')).toEqual([String(to)]);
      await servers.streamTo('replica-1', 'replica-2');
      for (const replica of ['replica-1', 'replica-2'])
        expect(Number((await servers.sql(replica, 'SHOW max_connections'))[0])).toBeGreaterThanOrEqual(
          Number(to),
        );
      await servers.writeRows();
      await servers.haveAllRows();
    }
  });

  it('applies a setting without a restart if PostgreSQL can', async () => {
    const started = await servers.startTimes();
    await example.edit(
      'shared_buffers: 32MB',
      'shared_buffers: 32MB\n    work_mem: 6MB\n    synchronous_standby_names: ANY 1 (*)\n    log_line_prefix: "it\'s %m: "',
    );
    await apply();
    for (const node of await servers.nodes())
      expect(
        await servers.sql(node, 'SELECT current_setting($$work_mem$$), current_setting($$log_line_prefix$$)'),
      ).toEqual(["6MB|it's %m: "]);
    expect(await servers.startTimes()).toEqual(started);
    await servers.haveAllRows();
  });

  it('is held at a setting that PostgreSQL refuses, with its message, and continues as before', async () => {
    const started = await servers.startTimes();
    await example.edit('work_mem: 6MB', 'work_mem: plenty');
    const { operation, status } = await outcome();
    expect(operation.state).toBe('held');
    for (const { failure } of status.nodes)
      expect(failure?.stderr).toContain('invalid value for parameter "work_mem": "plenty"');
    expect(await servers.startTimes()).toEqual(started);
    await example.edit('work_mem: plenty', 'work_mem: 6MB');
    await apply();
    await servers.haveAllRows();
  });

  it('keeps for an absent replica all that it missed', async () => {
    await servers.crash('replica-1');
    for (let segment = 0; segment < 5; segment += 1) {
      await servers.writeRows();
      await servers.sql(primary, 'SELECT pg_switch_wal()');
    }
    await servers.sql(primary, 'CHECKPOINT');
    await servers.revive('replica-1');
    await servers.streamTo('replica-1', 'replica-2');
    await servers.haveAllRows();
  });

  it('replaces the primary on another machine from the most advanced replica', async () => {
    const before = await stack.client.payload(cluster, primary);
    await example.edit(
      'primary: {count: 1, provider: local, hardware: small',
      'primary: {count: 1, provider: local, hardware: medium',
    );
    await apply();
    expect((await stack.client.payload(cluster, primary)).providerid).not.toBe(before.providerid);
    await servers.streamTo('replica-1', 'replica-2');
    await servers.writeRows();
    await servers.haveAllRows();
  });

  it('creates no empty primary while the replicas with the data are down, and promotes the most advanced later', async () => {
    await servers.crash('replica-1');
    await servers.writeRows();
    await servers.crash('replica-2');
    await example.edit(
      'primary: {count: 1, provider: local, hardware: medium',
      'primary: {count: 1, provider: local, hardware: small',
    );
    const { operation, status } = await outcome();
    expect(operation.state).toBe('held');
    expect(
      status.nodes.flatMap(({ nodeId, failure }) =>
        failure === undefined ? [] : [`${nodeId} ${failure.action} ${failure.stderr}`],
      ),
    ).toEqual([expect.stringContaining(`${primary} INITIALIZE no replica runs that could give the data`)]);
    await servers.revive('replica-1');
    await servers.revive('replica-2');
    const retried = await stack.client.retry(cluster);
    expect((await stack.client.waitFor(cluster, retried.operation)).operation.state).toBe('done');
    await servers.streamTo('replica-1', 'replica-2');
    await servers.writeRows();
    await servers.haveAllRows();
  });

  it('replaces replicas on other machines by base backups', async () => {
    await example.edit(
      'replica: {count: 2, provider: local, hardware: small',
      'replica: {count: 2, provider: local, hardware: medium',
    );
    await apply();
    await servers.streamTo('replica-1', 'replica-2');
    await servers.writeRows();
    await servers.haveAllRows();
  });

  it('stops replicas before the primary when it is deleted, and leaves no machine', async () => {
    const { operation = '' } = await stack.client.delete(cluster);
    const deleted = await stack.client.waitFor(cluster, operation);
    const stops = await runsOf(stack.client, cluster, deleted.operation.uid, 'STOP');
    expect(stops.map(({ nodeId }) => nodeId).toSorted()).toEqual([primary, 'replica-1', 'replica-2']);
    const last = stops.find(({ nodeId }) => nodeId === primary)?.scheduledAt ?? Number.NaN;
    for (const { end } of stops.filter(({ nodeId }) => nodeId !== primary))
      expect(end?.at).toBeLessThanOrEqual(last);
    expect(await stack.service.machines()).toEqual([]);
  });

  async function outcome(): Promise<WaitResult> {
    const { operation } = await stack.client.apply(example.spec());
    return stack.client.waitFor(cluster, operation);
  }

  async function operate(kind: 'stop' | 'start'): Promise<void> {
    const { operation } = await stack.client.operate(cluster, { kind, services: ['postgres-replica'] });
    expect((await stack.client.waitFor(cluster, operation)).operation.state).toBe('done');
  }

  async function apply(): Promise<void> {
    const { operation, status } = await outcome();
    expect(
      status.nodes.flatMap(({ nodeId, failure }) => (failure === undefined ? [] : [{ nodeId, ...failure }])),
    ).toEqual([]);
    expect(operation.state).toBe('done');
  }
});
