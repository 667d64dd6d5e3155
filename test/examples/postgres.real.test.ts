import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { createTaskReader } from '../../src/cli/task-events.js';
import type { WaitResult } from '../../src/client/index.js';
import { startStack, type Stack, type WorkerProcess } from '../support/stack.js';
import { until } from '../support/until.js';
import { copyExample, type Example } from './support/example.js';
import { serversOf, type Servers } from './support/postgres.js';

const cluster = 'postgres';
const primary = 'primary-1';
const home = '/var/lib/postgresql/postgres';
/** Every character that a shell, a password file or SQL could stumble over. */
const password = 'a b:c\\d\'e"f$g`h';

/** One life of one cluster: each step goes on from the one before, and after each the rows are there. */
describe('the PostgreSQL example', { timeout: 180_000 }, () => {
  let stack: Stack;
  let worker: WorkerProcess;
  let example: Example;
  let servers: Servers;
  let obstacle: string | undefined;
  let rows = 0;

  beforeAll(async () => {
    stack = await startStack({ temporalAddress: inject('temporalAddress'), distPath: inject('distPath'), kind: 'auto' });
    obstacle = await findObstacle();
    if (obstacle !== undefined) return;
    worker = await stack.startWorker();
    servers = serversOf(stack.client, cluster);
    example = await copyExample(cluster, stack.folder);
    const file = join(stack.folder, 'replication-password');
    await writeFile(file, `${password}\n`, { mode: 0o600 });
    await example.edit('secret: "env:POSTGRES_REPLICATION_PASSWORD"', `secret: "file:${file}"`);
  }, 120_000);
  beforeEach((context) => {
    if (obstacle !== undefined) context.skip(obstacle);
  });
  afterAll(async () => {
    await servers?.close();
    await stack.stop();
  });

  it('comes up with a primary and two replicas that stream from it, each through its slot', async () => {
    await apply();
    expect(await nodes()).toEqual([primary, 'replica-1', 'replica-2']);
    await streams('replica-1', 'replica-2');
    await writeRows();
    await rowsAreEverywhere();
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
    const environment = await servers.shell(primary, `tr '\\0' '\\n' <"/proc/$(head -n 1 ${home}/data/postmaster.pid)/environ"`);
    expect(environment).toContain('HEDDLE_NODE=primary-1');
    expect(environment).not.toContain('REPLICATION_PASSWORD');
    expect(worker.output()).not.toContain(password);
    expect(spawnSync('grep', ['-rlF', password, worker.dataFolder], { encoding: 'utf8' })).toMatchObject({ status: 1, stdout: '' });
  });

  it('takes a third replica, made from the data that is there', async () => {
    await example.edit('replica: {count: 2', 'replica: {count: 3');
    await apply();
    await streams('replica-1', 'replica-2', 'replica-3');
    await writeRows();
    await rowsAreEverywhere();
  });

  it('gives a replica up, and its slot with it', async () => {
    await example.edit('replica: {count: 3', 'replica: {count: 2');
    await apply();
    expect(await nodes()).toEqual([primary, 'replica-1', 'replica-2']);
    await streams('replica-1', 'replica-2');
    await writeRows();
    await rowsAreEverywhere();
  });

  it('restarts its servers for a setting that needs it, up as well as down, in whichever order nodes are reached', async () => {
    for (const [from, to] of [[50, 80], [80, 40]]) {
      await example.edit(`max_connections: ${from}`, `max_connections: ${to}`);
      await apply();
      expect(await servers.sql(primary, 'SHOW max_connections')).toEqual([String(to)]);
      await streams('replica-1', 'replica-2');
      for (const replica of ['replica-1', 'replica-2']) expect(Number((await servers.sql(replica, 'SHOW max_connections'))[0])).toBeGreaterThanOrEqual(Number(to));
      await writeRows();
      await rowsAreEverywhere();
    }
  });

  it('takes a setting over without a restart where PostgreSQL can', async () => {
    const started = await startTimes();
    await example.edit('shared_buffers: 32MB', 'shared_buffers: 32MB\n    work_mem: 6MB\n    log_line_prefix: "it\'s %m: "');
    await apply();
    for (const node of await nodes()) expect(await servers.sql(node, 'SELECT current_setting($$work_mem$$), current_setting($$log_line_prefix$$)')).toEqual(['6MB|it\'s %m: ']);
    expect(await startTimes()).toEqual(started);
    await rowsAreEverywhere();
  });

  it('holds at a setting that PostgreSQL refuses, with its words, and goes on as before', async () => {
    const started = await startTimes();
    await example.edit('work_mem: 6MB', 'work_mem: plenty');
    const { operation, status } = await outcome();
    expect(operation.state).toBe('held');
    for (const { failure } of status.nodes) expect(failure?.stderr).toContain('invalid value for parameter "work_mem": "plenty"');
    expect(await startTimes()).toEqual(started);
    await example.edit('work_mem: plenty', 'work_mem: 6MB');
    await apply();
    await rowsAreEverywhere();
  });

  it('keeps for a replica that was away all that it missed', async () => {
    const control = `runuser -u postgres -- /usr/lib/postgresql/*/bin/pg_ctl -w -D ${home}/data`;
    await servers.shell('replica-1', `cd / && ${control} -m immediate stop`);
    for (let segment = 0; segment < 5; segment += 1) {
      await writeRows();
      await servers.sql(primary, 'SELECT pg_switch_wal()');
    }
    await servers.sql(primary, 'CHECKPOINT');
    await servers.shell('replica-1', `cd / && ${control} -l ${home}/postgres.log -o "-c config_file=${home}/conf/postgresql.conf" start`);
    await streams('replica-1', 'replica-2');
    await rowsAreEverywhere();
  });

  it('makes the primary anew on another machine, from the replica that is furthest', async () => {
    const before = await stack.client.payload(cluster, primary);
    await example.edit('primary: {count: 1, provider: local, hardware: small', 'primary: {count: 1, provider: local, hardware: medium');
    await apply();
    expect((await stack.client.payload(cluster, primary)).providerid).not.toBe(before.providerid);
    await streams('replica-1', 'replica-2');
    await writeRows();
    await rowsAreEverywhere();
  });

  it('makes replicas anew on other machines, by base backups', async () => {
    await example.edit('replica: {count: 2, provider: local, hardware: small', 'replica: {count: 2, provider: local, hardware: medium');
    await apply();
    await streams('replica-1', 'replica-2');
    await writeRows();
    await rowsAreEverywhere();
  });

  it('stops replicas before the primary when it is deleted, and leaves no machine', async () => {
    const { operation = '' } = await stack.client.delete(cluster);
    await stack.client.waitFor(cluster, operation);
    const stops = await stopsOf(operation);
    expect(stops.map(({ nodeId }) => nodeId).toSorted()).toEqual([primary, 'replica-1', 'replica-2']);
    const last = stops.find(({ nodeId }) => nodeId === primary)?.began ?? Number.NaN;
    for (const { nodeId, ended } of stops) if (nodeId !== primary) expect(ended).toBeLessThanOrEqual(last);
    expect(await stack.service.machines()).toEqual([]);
  });

  /** The reason why this machine cannot run the example. */
  async function findObstacle(): Promise<string | undefined> {
    const { kind } = z.object({ kind: z.string() }).parse(await stack.service.call('GET', '/v1/health'));
    if (kind !== 'sandbox') return 'sandboxes need Linux, root and the right to mount';
    const { status } = spawnSync('sh', ['-c', 'command -v initdb || ls /usr/lib/postgresql/*/bin/initdb']);
    return status === 0 ? undefined : 'PostgreSQL is not installed: npm run setup:extras';
  }

  async function outcome(): Promise<WaitResult> {
    const { operation } = await stack.client.apply(example.spec());
    return stack.client.waitFor(cluster, operation);
  }

  async function apply(): Promise<void> {
    const { operation, status } = await outcome();
    expect(status.nodes.flatMap(({ nodeId, failure }) => (failure === undefined ? [] : [{ nodeId, ...failure }]))).toEqual([]);
    expect(operation.state).toBe('done');
  }

  async function nodes(): Promise<readonly string[]> {
    return (await stack.client.status(cluster)).nodes.map(({ nodeId }) => nodeId).toSorted();
  }

  /** Just these replicas stream from the primary, and each has its slot. */
  async function streams(...replicas: readonly string[]): Promise<void> {
    const slots = replicas.map((replica) => `heddle_${replica.replaceAll('-', '_')}`);
    const query = `SELECT application_name, state, slot_name FROM pg_stat_replication FULL JOIN pg_replication_slots ON pid = active_pid ORDER BY slot_name`;
    const wanted = replicas.map((replica, index) => `${replica}|streaming|${slots[index]}`).join('\n');
    await until(`${replicas.join(', ')} stream`, async () => (await servers.sql(primary, query)).join('\n') === wanted, 60_000);
  }

  async function writeRows(): Promise<void> {
    await servers.sql(primary, 'INSERT INTO note (text) SELECT md5(random()::text) FROM generate_series(1, 100)');
    rows += 100;
  }

  /** As many rows as were ever written, and the same on all nodes. */
  async function rowsAreEverywhere(): Promise<void> {
    const query = "SELECT count(*), md5(string_agg(text, ',' ORDER BY id)) FROM note";
    const [wanted = ''] = await servers.sql(primary, query);
    expect(wanted).toMatch(new RegExp(`^${rows}\\|`));
    for (const node of await nodes()) await until(`all rows on ${node}`, async () => (await servers.sql(node, query))[0] === wanted, 60_000);
  }

  /** For each node when its STOP began and ended in an operation, as the history of the cluster's workflow tells. */
  async function stopsOf(operation: string): Promise<readonly { readonly nodeId: string; readonly began: number; readonly ended: number }[]> {
    const { events } = await stack.client.temporal.workflow.getHandle(`cluster/${cluster}`).fetchHistory();
    const reader = createTaskReader();
    const runs = new Map((events ?? []).flatMap((event) => {
      const run = reader.read(event);
      return run?.action === 'STOP' && run.operation === operation ? [[run.nodeId, run] as const] : [];
    }));
    return [...runs.values()].map(({ nodeId, scheduledAt, end }) => ({ nodeId, began: scheduledAt, ended: end?.at ?? Number.NaN }));
  }

  async function startTimes(): Promise<readonly string[]> {
    const times = (await nodes()).map(async (node) => servers.sql(node, 'SELECT pg_postmaster_start_time()'));
    return (await Promise.all(times)).flat();
  }
});
