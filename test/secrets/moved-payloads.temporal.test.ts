import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { CompleteAsyncError, Context } from '@temporalio/activity';
import {
  Client,
  Connection,
  ScheduleOverlapPolicy,
  WithStartWorkflowOperation,
  type WorkflowHandleWithFirstExecutionRunId,
} from '@temporalio/client';
import { ApplicationFailure, type Payload } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { isRefusal } from '../../src/model/messages/refusal.js';
import { EncryptionCodec } from '../../src/secrets/codec.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { parseKeyRing } from '../../src/secrets/keys.js';
import { heddle } from '../../src/temporal-plugin.js';
import { until } from '../harness/until.js';
import { Attacker } from './attacker.js';
import {
  endSignal,
  everyPath,
  scheduled,
  takeQuery,
  takeSignal,
  takeUpdate,
  target,
  type Activities,
} from './moved-workflows.js';

const address = inject('temporalAddress');
const namespace = `moved-${randomUUID()}`;
const taskQueue = 'moved';
const key = generateKey();
const keys = formatKeys({ current: key.id, keys: [key] });

const activities: Activities = {
  echo: (value) => Promise.resolve(Context.current().info.heartbeatDetails ?? value),
  fail: (value) => Promise.reject(ApplicationFailure.nonRetryable('failed', 'Test', value)),
  resume(value) {
    const { heartbeatDetails } = Context.current().info;
    if (heartbeatDetails !== undefined) return Promise.resolve(heartbeatDetails);
    Context.current().heartbeat(value);
    throw new Error('the first attempt fails');
  },
  hang(value) {
    Context.current().heartbeat(value);
    // Rejects when the worker shuts down, long after the attempt timed out.
    return Context.current().cancelled;
  },
  completeLater: () => Promise.reject(new CompleteAsyncError()),
};

let connection: Connection;
let workerConnection: NativeConnection;
let bundle: WorkflowBundleWithSourceMap;
let worker: Worker;
let ended: Promise<void>;
let client: Client;

beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  connection = await Connection.connect({ address });
  workerConnection = await NativeConnection.connect({ address });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  bundle = await bundleWorkflowCode({
    workflowsPath: pathOf('moved-workflows.ts'),
    workflowInterceptorModules: [pathOf('../../src/workflows/genuine-outcomes.ts')],
    plugins: [heddle({ keys })],
    logger: new DefaultLogger('ERROR'),
  });
  client = new Client({
    connection,
    namespace,
    plugins: [heddle({ keys, scheduledWorkflowIds: ['nightly'] })],
  });
  await until('the namespace is ready', () =>
    client.workflow.count().then(
      () => true,
      () => false,
    ),
  );
  worker = await workerOn(taskQueue);
  ended = worker.run();
});
afterAll(async () => {
  worker.shutdown();
  await ended;
  await connection.close();
  await workerConnection.close();
});

function workerOn(queue: string): Promise<Worker> {
  const plugins = [heddle({ keys, scheduledWorkflowIds: ['nightly'] })];
  return Worker.create({
    connection: workerConnection,
    namespace,
    taskQueue: queue,
    workflowBundle: bundle,
    activities,
    plugins,
  });
}

/** Runs a workflow along every path on which Temporal carries payloads. */
async function runEveryPath(
  workflowId: string,
): Promise<WorkflowHandleWithFirstExecutionRunId<typeof everyPath>> {
  const handle = await client.workflow.start(everyPath, {
    taskQueue,
    workflowId,
    args: ['input'],
    memo: { first: 'memo' },
    staticSummary: 'summary',
    staticDetails: 'details',
  });
  const activityId = await until('the asynchronous activity runs', async () => {
    const { raw } = await handle.describe();
    return (
      raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'completeLater')?.activityId ??
      false
    );
  });
  await client.activity.complete({ workflowId, activityId }, 'asynchronous');
  expect(await client.workflow.getHandle(workflowId).query(takeQuery, 'query')).toEqual({ value: 'query' });
  expect(await client.workflow.getHandle(workflowId).executeUpdate(takeUpdate, { args: ['update'] })).toBe(
    'update',
  );
  await client.workflow.getHandle(workflowId).signal(takeSignal, 'signal');
  return handle;
}

describe('a payload', () => {
  it('arrives on every path on which Temporal carries payloads', async () => {
    const handle = await runEveryPath('every-path');
    expect(await handle.result()).toEqual({
      input: 'input',
      memo: 'memo',
      signal: 'signal',
      update: 'update',
      activity: 'activity',
      local: 'local',
      heartbeat: 'heartbeat',
      asynchronous: 'asynchronous',
      failure: { message: 'failed', details: ['failure'] },
      timeout: { timeout: 'timeout' },
      child: { input: 'child-input', taken: 'child-signal', memo: 'child-memo' },
      childFailure: { message: 'failing', details: ['child-failure'] },
    });
    expect((await handle.describe()).memo).toEqual({ first: 'memo', later: 'memo-later' });
    // A run that continues another one has no summary.
    const first = await client.workflow.getHandle('every-path', handle.firstExecutionRunId).describe();
    expect([await first.staticSummary(), await first.staticDetails()]).toEqual(['summary', 'details']);
    const history = await handle.fetchHistory();
    await Worker.runReplayHistory(
      { workflowBundle: bundle, plugins: [heddle({ keys, namespace })] },
      history,
      'every-path',
    );
  });

  it('arrives with signal-with-start and update-with-start', async () => {
    const options = { taskQueue, args: ['input', 0] as [unknown, number] };
    const signalled = await client.workflow.signalWithStart(target, {
      ...options,
      workflowId: 'with-signal',
      signal: takeSignal,
      signalArgs: ['signal'],
    });
    const startWorkflowOperation = new WithStartWorkflowOperation(target, {
      ...options,
      workflowId: 'with-update',
      workflowIdConflictPolicy: 'FAIL',
    });
    await client.workflow.executeUpdateWithStart(takeUpdate, { args: ['update'], startWorkflowOperation });
    const updated = await startWorkflowOperation.workflowHandle();
    for (const handle of [signalled, updated]) await handle.signal(endSignal);
    expect([await signalled.result(), await updated.result()]).toEqual([
      ['input', null, 'signal'],
      ['input', null, 'update'],
    ]);
  });

  it('arrives only from a schedule whose workflow id the worker was given', async () => {
    for (const id of ['nightly', 'other']) {
      await client.schedule.create({
        scheduleId: id,
        spec: {},
        action: {
          type: 'startWorkflow',
          workflowType: scheduled,
          workflowId: id,
          taskQueue,
          args: ['input'],
          memo: { first: 'memo' },
        },
      });
      const schedule = client.schedule.getHandle(id);
      expect((await schedule.describe()).action).toMatchObject({ args: ['input'], memo: { first: 'memo' } });
      const run = async (nth: number) => {
        await schedule.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
        const started = await until(
          `the schedule started workflow ${nth}`,
          async () => (await schedule.describe()).info.recentActions[nth - 1] ?? false,
        );
        const { workflowId } = started.action.workflow;
        expect(workflowId).toMatch(new RegExp(`^${id}-\\d{4}-`));
        return client.workflow.getHandle<typeof scheduled>(workflowId).result();
      };
      const first = await run(1);
      if (id === 'nightly') {
        expect(first).toEqual({ input: 'input', memo: 'memo' });
        expect(await run(2)).toEqual({ input: 'input', memo: 'memo', before: first });
      } else {
        expect(first).toMatchObject({ input: refused(), memo: refused() });
      }
      await schedule.delete();
    }
  });
});

// Promise: payload-moved
describe('a recorded payload', () => {
  let stolen: readonly Payload[];
  let attacker: Attacker;
  beforeAll(async () => {
    await (await runEveryPath('victim')).result();
    attacker = new Attacker(connection, namespace);
    stolen = await payloadsOf(['victim', 'victim/child', 'victim/failing']);
  });

  it('is refused as the input and as the memo of another workflow', async () => {
    expect(stolen.length).toBeGreaterThan(20);
    await Promise.all(stolen.map((payload, index) => startWith(`started/${index}`, payload)));
    for (const index of stolen.keys()) {
      const handle = client.workflow.getHandle<typeof target>(`started/${index}`);
      await handle.signal(endSignal);
      expect(await handle.result()).toEqual([refused(), refused()]);
    }
  });

  it("is refused as a signal, an update, a query and as the result, failure or heartbeat of another workflow's tasks", async () => {
    const handle = await client.workflow.start(target, {
      taskQueue,
      workflowId: 'target',
      args: ['input', stolen.length],
    });
    const execution = { workflowId: 'target' };
    const { workflowService } = connection;
    for (const payload of stolen) {
      const input = { payloads: [payload] };
      await workflowService.signalWorkflowExecution({
        namespace,
        workflowExecution: execution,
        signalName: 'take',
        input,
      });
      await workflowService.updateWorkflowExecution({
        namespace,
        workflowExecution: execution,
        request: { meta: { updateId: randomUUID() }, input: { name: 'take', args: input } },
        waitPolicy: {
          lifecycleStage:
            temporal.api.enums.v1.UpdateWorkflowExecutionLifecycleStage
              .UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED,
        },
      });
      const answer = await workflowService.queryWorkflow({
        namespace,
        execution,
        query: { queryType: 'take', queryArgs: input },
      });
      expect(await open(answer.queryResult?.payloads ?? [], 'target')).toEqual([refused()]);
    }
    for (const payload of stolen) {
      await attacker.completeActivity(payload);
      await attacker.failActivity('attacker', payload);
      await attacker.completeWorkflow(payload);
    }
    const failed = new Set<string>();
    while (failed.size < stolen.length)
      failed.add(await attacker.failActivity('heartbeats', stolen[failed.size] ?? {}));
    await handle.signal(endSignal);
    const heartbeats = await workerOn('heartbeats');
    const [input, memo, ...taken] = await heartbeats.runUntil(handle.result());
    expect([input, memo]).toEqual(['input', null]);
    expect(taken).toHaveLength(6 * stolen.length);
    const failedBy = {
      message: expect.stringMatching(/^The result was refused\. A payload was refused/),
      details: [],
    };
    for (const value of taken) expect(isRefusal(value) ? failedBy : value).toEqual(failedBy);
    expect(taken.filter(isRefusal)).toHaveLength(2 * stolen.length);
    await expectNoFailedTask('target');
  });

  it('is refused as the input of an activity that another workflow schedules', async () => {
    await connection.workflowService.startWorkflowExecution({
      namespace,
      workflowId: 'attack',
      workflowType: { name: 'attack' },
      taskQueue: { name: 'attacker' },
      requestId: randomUUID(),
    });
    await attacker.scheduleActivities(taskQueue, 'echo', stolen);
    const events = await until('the activities ended', async () => {
      const { events: all } = await new Client({ connection, namespace }).workflow
        .getHandle('attack')
        .fetchHistory();
      return (
        (all ?? []).filter((event) => event.activityTaskCompletedEventAttributes).length === stolen.length &&
        all
      );
    });
    const results = (events ?? []).flatMap(
      (event) => event.activityTaskCompletedEventAttributes?.result?.payloads ?? [],
    );
    expect(await open(results)).toEqual(stolen.map(() => refused()));
  });
});

function refused(): object {
  return { heddleRefused: expect.stringMatching(/^A payload was refused: it was not written for/) };
}

/** Decrypts without checking whose the payloads are, unless a workflow is given. */
async function open(payloads: Payload[], workflowId?: string): Promise<readonly unknown[]> {
  const codec = new EncryptionCodec({ keyRing: parseKeyRing(keys, 'the test'), namespace });
  const context =
    workflowId === undefined ? undefined : ({ type: 'workflow', namespace, workflowId } as const);
  return (await codec.decode(payloads, context)).map(({ data }): unknown =>
    JSON.parse(Buffer.from(data ?? []).toString()),
  );
}

/** All encrypted payloads in the histories of workflows. */
async function payloadsOf(workflowIds: readonly string[]): Promise<readonly Payload[]> {
  const histories = await Promise.all(workflowIds.map((id) => client.workflow.getHandle(id).fetchHistory()));
  const within = (value: unknown): Payload[] => {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
    if ('metadata' in value && 'data' in value && value.data instanceof Uint8Array) {
      return 'heddle/2' in (value.metadata as object) ? [value as Payload] : [];
    }
    return Object.values(value).flatMap(within);
  };
  return within(histories.map(({ events }) => events));
}

async function startWith(workflowId: string, payload: Payload): Promise<void> {
  const [attempts] = await new EncryptionCodec({ keyRing: parseKeyRing(keys, 'the test'), namespace }).encode(
    [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('0') }],
    { type: 'workflow', namespace, workflowId },
  );
  await connection.workflowService.startWorkflowExecution({
    namespace,
    workflowId,
    workflowType: { name: 'target' },
    taskQueue: { name: taskQueue },
    requestId: randomUUID(),
    input: { payloads: [payload, ...(attempts === undefined ? [] : [attempts])] },
    memo: { fields: { first: payload } },
  });
}

async function expectNoFailedTask(workflowId: string): Promise<void> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  expect(events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
}
