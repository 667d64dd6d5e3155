import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type ConnectionOptions, type WorkflowHandle } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTaskActivities } from '../../src/activities/table.js';
import { findPreviousRuns } from '../../src/activities/cluster/previous-runs.js';
import type { PreviousRunsReply } from '../../src/model/node/probe.js';
import type { TaskOutcome } from '../../src/model/node/task-request.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { heddle } from '../../src/temporal-plugin.js';
import { readWorkflowRuns } from '../../src/worker/workflow-runs.js';
import { TestService } from '../harness/local/service.js';
import { makeNamespace } from '../harness/namespace.js';
import { until } from '../harness/until.js';
import { type createOne, endSignal, type life } from '../harness/activities/fixture-workflows.js';
import { type MachineBench, openMachineBench, taskOn } from '../harness/activities/machines.js';

type GrpcInterceptor = NonNullable<ConnectionOptions['interceptors']>[number];

const key = generateKey();
const taskQueue = `runs-${randomUUID()}`;

let connection: Connection;
let native: NativeConnection;
let client: Client;
let namespace: string;
let plugin: ReturnType<typeof heddle>;
let worker: Worker;
let running: Promise<void>;
let service: TestService;
let bench: MachineBench;

/** Long enough that a CREATE which did not wait would show. */
const callDeadlineMs = 1_500;
const consistencyWindowMs = 1_000;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const address = inject('temporalAddress');
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  namespace = await makeNamespace(connection, 'activities');
  plugin = heddle({ keys: formatKeys({ current: key.id, keys: [key] }), namespace });
  client = new Client({ connection, namespace, plugins: [plugin] });
  service = await TestService.start(['--kind', 'directory']);
  bench = await openMachineBench(service, {
    descriptor: { idempotency: 'tag', callDeadlineMs, consistencyWindowMs },
    changes: { runs: readWorkflowRuns(client) },
  });
  const workflowsPath = fileURLToPath(new URL('../harness/activities/fixture-workflows.ts', import.meta.url));
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath,
    plugins: [plugin],
    logger: new DefaultLogger('ERROR'),
  });
  worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue,
    workflowBundle,
    plugins: [plugin],
    activities: createTaskActivities(bench.parts),
    shutdownGraceTime: 0,
  });
  running = worker.run();
});
afterAll(async () => {
  worker.shutdown();
  await running;
  await bench.close();
  await native.close();
  await connection.close();
});

async function made(hostname: string): Promise<readonly unknown[]> {
  const { body } = await service.call('GET', '/v1/journal?operation=create&limit=100000');
  return (
    body as { readonly entries: readonly { readonly hostname?: string; readonly repeated?: true }[] }
  ).entries.filter((entry) => entry.hostname === hostname && entry.repeated !== true);
}

async function reset(
  handle: Pick<WorkflowHandle, 'workflowId' | 'fetchHistory'>,
  runId: string,
): Promise<string> {
  const { events = [] } = await handle.fetchHistory();
  const first = events?.find(
    ({ workflowTaskCompletedEventAttributes: completed }) => completed !== undefined && completed !== null,
  );
  const answer = await connection.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: handle.workflowId, runId },
    requestId: randomUUID(),
    reason: 'by hand',
    workflowTaskFinishEventId: first?.eventId ?? null,
  });
  return answer.runId;
}

describe('CREATE after a reset of its workflow', () => {
  it('waits until the lost call has ended and is visible, and adopts the machine', async () => {
    // Made, and shown only later; the first attempt never hears of it.
    await service.call('POST', '/v1/faults', {
      fault: 'list-lag',
      ms: consistencyWindowMs,
      hostname: 'reset-1',
    });
    const { body } = await service.call('POST', '/v1/faults', {
      fault: 'hold-answer',
      operation: 'create',
      hostname: 'reset-1',
    });
    const { id } = body as { readonly id: string };
    const workflowId = `reset-${randomUUID()}`;
    const handle = await client.workflow.start<typeof createOne>('createOne', {
      workflowId,
      taskQueue,
      args: [taskOn('reset-1')],
    });
    await until('the machine is made', async () => (await made('reset-1')).length === 1);
    const runId = await reset(handle, handle.firstExecutionRunId);
    expect(await readWorkflowRuns(client).resetAt(workflowId, runId)).toBeGreaterThan(0);
    expect(await readWorkflowRuns(client).resetAt(workflowId, handle.firstExecutionRunId)).toBeUndefined();
    const outcome = (await client.workflow.getHandle(workflowId, runId).result()) as TaskOutcome;
    await service.call('DELETE', `/v1/faults/${id}`);
    const { body: list } = await service.call('GET', '/v1/machines');
    const machines = (
      list as { readonly machines: readonly { readonly id: string; readonly hostname: string }[] }
    ).machines.filter(({ hostname }) => hostname === 'reset-1');
    const { providerid, ...rest } = outcome.result ?? {};
    expect(machines.map(({ id: machine }) => machine)).toEqual([providerid]);
    expect(await made('reset-1')).toHaveLength(1);
    expect(rest).toMatchObject({ 'ssh-auth': { user: expect.any(String) } });
  });

  it('is known to runs that continue it as new', async () => {
    const workflowId = `reset-${randomUUID()}`;
    const { firstExecutionRunId } = await client.workflow.start<typeof life>('life', {
      workflowId,
      taskQueue,
      args: ['uid'],
    });
    const handle = client.workflow.getHandle<typeof life>(workflowId);
    await until('it has begun', async () => (await handle.fetchHistory()).events?.at(3));
    const runId = await reset(handle, firstExecutionRunId);
    const next = async (after: string): Promise<string> => {
      await handle.signal(endSignal, 'continue');
      return until('it continues as new', async () => {
        const { runId: latest } = await handle.describe();
        return latest !== after && latest;
      });
    };
    const second = await next(runId);
    const third = await next(second);
    const runs = readWorkflowRuns(client);
    const resetAt = await runs.resetAt(workflowId, runId);
    expect(resetAt).toBeGreaterThan(0);
    expect(await runs.resetAt(workflowId, third)).toBe(resetAt);
    expect(await runs.resetAt(workflowId, second)).toBe(resetAt);
    expect(await runs.resetAt(workflowId, firstExecutionRunId)).toBeUndefined();
    expect(await runs.resetAt(workflowId)).toBe(resetAt);
    await handle.signal(endSignal, 'complete');
  });

  it('of a cluster counts for its groups', async () => {
    const cluster = `cluster/reset-${randomUUID()}`;
    const start = async (workflowId: string) =>
      client.workflow.start<typeof life>('life', { workflowId, taskQueue, args: ['uid'] });
    const { firstExecutionRunId } = await start(cluster);
    const handle = client.workflow.getHandle<typeof life>(cluster);
    const group = await start(`${cluster}/group/1`);
    const runs = readWorkflowRuns(client);
    const resetOfGroup = async (): Promise<number | undefined> =>
      runs.resetAt(`${cluster}/group/1`, group.firstExecutionRunId);
    expect(await resetOfGroup()).toBeUndefined();
    await until('it has begun', async () => (await handle.fetchHistory()).events?.at(3));
    const runId = await reset(handle, firstExecutionRunId);
    expect(await resetOfGroup()).toBe(await runs.resetAt(cluster, runId));
    expect(await resetOfGroup()).toBeGreaterThan(0);
    await group.terminate();
    await handle.terminate();
  });

  it('is asked for once for all tasks of a run', async () => {
    const asked: string[] = [];
    const other = await Connection.connect({
      address: inject('temporalAddress'),
      interceptors: [
        (options, nextCall) => {
          asked.push(options.method_definition.path);
          return nextCall(options) as ReturnType<GrpcInterceptor>;
        },
      ],
    });
    try {
      const workflowId = `reset-${randomUUID()}`;
      const runs = readWorkflowRuns(new Client({ connection: other, namespace, plugins: [plugin] }));
      const { firstExecutionRunId: runId } = await client.workflow.start<typeof life>('life', {
        workflowId,
        taskQueue,
        args: ['uid'],
      });
      asked.length = 0;
      await Promise.all(Array.from({ length: 50 }, () => runs.resetAt(workflowId, runId)));
      expect(asked).toHaveLength(2);
      await client.workflow.getHandle(workflowId).terminate();
    } finally {
      await other.close();
    }
  });

  it('creates nothing in an attempt that was superseded', async () => {
    const workflowId = `stale-${randomUUID()}`;
    const handle = await client.workflow.start<typeof createOne>('createOne', {
      workflowId,
      taskQueue,
      args: [taskOn('stale-1')],
    });
    await handle.result();
    // The activity has ended at the server: whoever still carries out its second attempt is late.
    const { CREATE } = createTaskActivities(bench.parts);
    const late = new MockActivityEnvironment(
      { attempt: 2, activityId: '1', workflowExecution: { workflowId, runId: handle.firstExecutionRunId } },
      { logger: new DefaultLogger('ERROR') },
    );
    await expect(late.run(CREATE, taskOn('stale-2'))).rejects.toMatchObject({
      type: 'Retryable',
      message: 'CREATE stale-2: another attempt has replaced this one',
    });
    expect(await made('stale-2')).toEqual([]);
  });
});

describe('FIND_PREVIOUS_RUNS', () => {
  const start = (name: string, uid: string) =>
    client.workflow.start<typeof life>('life', { workflowId: `cluster/${name}`, taskQueue, args: [uid] });

  /** As the cluster's own workflow would ask: its memo is written. */
  async function earlier(
    name: string,
    handle: WorkflowHandle<typeof life> & { readonly firstExecutionRunId: string },
    runId = handle.firstExecutionRunId,
  ): Promise<PreviousRunsReply> {
    const runs = readWorkflowRuns(client);
    await until(
      'the memo is written',
      async () => (await runs.describe(`cluster/${name}`, runId))?.clusterUid,
    );
    return findPreviousRuns({ runs }, { clusterId: name, runId });
  }

  const memoOf = (handle: { readonly workflowId: string; readonly firstExecutionRunId: string }) =>
    until(
      'the memo is written',
      async () =>
        (await readWorkflowRuns(client).describe(handle.workflowId, handle.firstExecutionRunId))?.clusterUid,
    );

  it('finds nothing for a new name', async () => {
    const name = `new-${randomUUID()}`;
    const handle = await start(name, 'a');
    expect(await earlier(name, handle)).toEqual({ uids: [], known: [], clean: true });
    await handle.terminate();
  });

  it('finds the run that was cut short right after it was terminated', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const name = `cut-${randomUUID()}`;
        const first = await start(name, 'first');
        await memoOf(first);
        await first.terminate();
        const second = await start(name, 'second');
        expect(await earlier(name, second)).toEqual({ uids: ['first'], known: ['first'], clean: false });
        await second.terminate();
      }),
    );
  });

  it('returns runs that were cut short, newest first, and whether the last one ended by itself', async () => {
    const name = `lives-${randomUUID()}`;
    for (const [uid, end] of [
      ['one', 'terminate'],
      ['two', 'fail'],
      ['three', 'complete'],
    ] as const) {
      const handle = await start(name, uid);
      await memoOf(handle);
      if (end === 'terminate') await handle.terminate();
      else await handle.signal(endSignal, end);
      await handle.result().catch(() => undefined);
    }
    const last = await start(name, 'four');
    expect(await earlier(name, last)).toEqual({
      uids: ['two', 'one'],
      known: ['three', 'two', 'one'],
      clean: true,
    });
    await last.terminate();
  });

  it('omits the runs that it continues, and those that a reset cut off', async () => {
    const name = `own-${randomUUID()}`;
    const handle = await start(name, 'own');
    await memoOf(handle);
    await handle.signal(endSignal, 'continue');
    const next = await until('it continued', async () => {
      const { runId } = await client.workflow.getHandle(`cluster/${name}`).describe();
      return runId !== handle.firstExecutionRunId && runId;
    });
    expect(await earlier(name, handle, next)).toEqual({ uids: [], known: [], clean: true });
    const { events } = await client.workflow.getHandle(`cluster/${name}`, next).fetchHistory();
    const done = events?.find(
      ({ workflowTaskCompletedEventAttributes: completed }) => completed !== undefined && completed !== null,
    );
    const { runId } = await connection.workflowService.resetWorkflowExecution({
      namespace,
      workflowExecution: { workflowId: `cluster/${name}`, runId: next },
      requestId: randomUUID(),
      reason: 'by hand',
      workflowTaskFinishEventId: done?.eventId ?? null,
    });
    expect(await earlier(name, handle, runId)).toEqual({ uids: [], known: [], clean: true });
    await client.workflow.getHandle(`cluster/${name}`).terminate();
  });
});
