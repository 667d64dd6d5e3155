import { fileURLToPath } from 'node:url';
import { activityInfo, Context } from '@temporalio/activity';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure, type Payload, type ProtoFailure } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  buildQueue,
  coreQueue,
  providerQueue,
  siteQueue,
  uploadQueue,
  workflowQueue,
} from '../../src/model/names.js';
import { failureKinds } from '../../src/plugins/errors.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { heddle } from '../../src/temporal-plugin.js';
import { openInputs } from '../../src/worker/open-inputs.js';
import { makeNamespace } from '../harness/namespace.js';
import { until } from '../harness/until.js';
import { everyActivity, shortId, type End } from '../harness/workflows/every-activity.js';
import { samples } from '../harness/workflows/sample-messages.js';

type Ends = Readonly<Record<string, End>>;

const unknown = { kind: 'UnknownOutcome' };
const [notReady, timedOut] = ['NotReady', 'Timeout'].map((kind) => JSON.stringify({ kind }));
/** All runs have one workflow id, so what one run recorded decrypts in the next ones. */
const workflowId = 'plan/forged';
const started = temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;

let connection: Connection;
let native: NativeConnection;
let namespace: string;
let client: Client;
let workers: readonly Worker[];
let running: readonly Promise<void>[];
/** What an attempt of any activity does. */
let act: () => Promise<unknown>;
/** Ends attempts that hang. */
let release = (): void => undefined;

beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  const address = inject('temporalAddress');
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  namespace = await makeNamespace(connection, 'forged');
  const key = generateKey();
  const plugins = [heddle({ keys: formatKeys({ current: key.id, keys: [key] }), namespace })];
  client = new Client({ connection, namespace, plugins });
  const workflowsPath = fileURLToPath(new URL('../harness/workflows/every-activity.ts', import.meta.url));
  const logger = new DefaultLogger('ERROR');
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, plugins, logger });
  const base = { connection: native, namespace, plugins, maxHeartbeatThrottleInterval: 500 };
  const activities = Object.fromEntries(everyActivity.map((name) => [name, () => act()]));
  const queues = [
    coreQueue,
    siteQueue('here'),
    providerQueue('here', 'account'),
    buildQueue('here'),
    uploadQueue('here'),
  ];
  workers = await Promise.all([
    Worker.create({ ...base, taskQueue: workflowQueue, workflowBundle }),
    ...queues.map((taskQueue) =>
      Worker.create({
        ...base,
        taskQueue,
        activities,
        interceptors: { activity: [openInputs] },
        shutdownGraceTime: 0,
      }),
    ),
  ]);
  running = workers.map((worker) => worker.run());
});
afterAll(async () => {
  release();
  for (const worker of workers) worker.shutdown();
  await Promise.all(running);
  await native.close();
  await connection.close();
});

/** From now on attempts only hang, also if they are cancelled. */
function letHang(): void {
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  act = async () => {
    const context = Context.current();
    const timer = setInterval(() => context.heartbeat(), 250);
    await released.finally(() => clearInterval(timer));
  };
}

const start = (): Promise<WorkflowHandle> =>
  client.workflow.start('plan', { workflowId, taskQueue: workflowQueue, args: [...samples.plan.start] });

/** Starts the workflow; resolves when each activity has begun this attempt. */
async function startAll(attempt = 1): Promise<WorkflowHandle> {
  const handle = await start();
  await until('all activities run', async () => {
    const { pendingActivities } = (await handle.describe()).raw;
    const begun = (pendingActivities ?? []).filter(
      (one) => one.state === started && (one.attempt ?? 0) >= attempt,
    );
    return begun.length === everyActivity.length;
  });
  return handle;
}

type Answer = Parameters<typeof connection.workflowService.respondActivityTaskFailedById>[0];

/** Anyone whom the server permits may answer for an activity; what the workflow makes of it. */
async function forge(failureOf: (activity: string) => ProtoFailure): Promise<Ends> {
  letHang();
  return forgeFor(await startAll(), failureOf);
}

async function forgeFor(
  handle: WorkflowHandle,
  failureOf: (activity: string) => ProtoFailure,
  activities: readonly string[] = everyActivity,
): Promise<Ends> {
  await Promise.all(
    activities.map((activityId) => {
      const answer: Answer = { namespace, workflowId, activityId, failure: failureOf(activityId) };
      return connection.workflowService.respondActivityTaskFailedById(answer);
    }),
  );
  return endsOf(handle);
}

async function endsOf(handle: WorkflowHandle): Promise<Ends> {
  const ends = (await handle.result()) as Ends;
  release();
  // The server fails a task itself, without a failure, if too many events arrive during it.
  const { events } = await handle.fetchHistory();
  expect(events?.filter((event) => event.workflowTaskFailedEventAttributes?.failure)).toEqual([]);
  return ends;
}

const all = (end: End): Ends => Object.fromEntries(everyActivity.map((name) => [name, end]));

const plaintext = (value: unknown): Payload => ({
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify(value)),
});

/** What a worker recorded, by the activity. */
const recorded: Record<string, { failure?: ProtoFailure; result?: Payload }> = {};

async function record(handle: WorkflowHandle): Promise<void> {
  const names = new Map<string, string>();
  for (const event of (await handle.fetchHistory()).events ?? []) {
    const { activityTaskScheduledEventAttributes: scheduled } = event;
    if (scheduled) names.set(String(event.eventId), scheduled.activityId ?? '');
    const failed = event.activityTaskFailedEventAttributes;
    const completed = event.activityTaskCompletedEventAttributes;
    const name = names.get(String((failed ?? completed)?.scheduledEventId)) ?? '';
    if (failed?.failure) recorded[name] = { ...recorded[name], failure: failed.failure };
    const result = completed?.result?.payloads?.[0];
    if (result) recorded[name] = { ...recorded[name], result };
  }
}

const forgedKinds = [...failureKinds, 'MachineLost', 'PluginChanged', 'Internal', 'HandedOver', 'Timeout'];

describe('every activity of the table', () => {
  it('fails, or returns, as its worker reports', async () => {
    act = () => Promise.reject(ApplicationFailure.nonRetryable('no', 'ScriptFailed', { exitCode: 3 }));
    const failing = await start();
    expect(await endsOf(failing)).toEqual(all({ kind: 'ScriptFailed', exitCode: 3 }));
    await record(failing);
    act = () => Promise.resolve({});
    const returning = await start();
    expect(await endsOf(returning)).toEqual(all('done'));
    await record(returning);
    expect(Object.keys(recorded).toSorted()).toEqual(everyActivity.toSorted());
  });

  // Promise: failures-sealed
  it.each(forgedKinds)(
    'has an unknown outcome if a caller without keys reports the failure %s',
    async (type) => {
      const details = {
        payloads: [
          plaintext({ heddleFailed: '', type, message: '', isFinal: true, attempt: 1, details: [] }),
        ],
      };
      const failure = { message: 'no', applicationFailureInfo: { type, nonRetryable: true, details } };
      expect(await forge(() => failure)).toEqual(all(unknown));
    },
  );

  // Promise: failures-sealed
  it('has an unknown outcome after a failure without details, or of another sort', async () => {
    const nonRetryable = true;
    expect(await forge(() => ({ applicationFailureInfo: { type: 'Capacity', nonRetryable } }))).toEqual(
      all(unknown),
    );
    expect(await forge(() => ({ terminatedFailureInfo: {} }))).toEqual(all(unknown));
    expect(await forge(() => ({ serverFailureInfo: { nonRetryable } }))).toEqual(all(unknown));
  });

  // Promise: failures-sealed
  it('has an unknown outcome if the failure of the same activity in an earlier run is reported again', async () => {
    expect(await forge((name) => recorded[name]?.failure ?? {})).toEqual(all(unknown));
  });

  it('has an unknown outcome if the failure of another activity is reported', async () => {
    const other = (name: string): string =>
      everyActivity[(everyActivity.findIndex((one) => one === name) + 1) % everyActivity.length] ?? '';
    expect(await forge((name) => recorded[other(name)]?.failure ?? {})).toEqual(all(unknown));
  });

  // Promise: results-of-call
  it('has an unknown outcome if the result of an earlier run is reported again', async () => {
    letHang();
    const handle = await startAll();
    await Promise.all(
      everyActivity.map((activityId) => {
        const result = { payloads: [recorded[activityId]?.result ?? {}] };
        return connection.workflowService.respondActivityTaskCompletedById({
          namespace,
          workflowId,
          activityId,
          result,
        });
      }),
    );
    expect(await endsOf(handle)).toEqual(all(unknown));
  });

  /**
   * Each activity's first attempt fails, another may follow and hangs; the failure of the first
   * is reported again.
   */
  async function reportAgain(
    info: NonNullable<ProtoFailure['applicationFailureInfo']>,
    change: (handle: WorkflowHandle) => Promise<unknown> = () => Promise.resolve(),
  ): Promise<Ends> {
    letHang();
    const hang = act;
    act = () =>
      activityInfo().attempt > 1
        ? hang()
        : Promise.reject(ApplicationFailure.create({ type: 'NotReady', nextRetryDelay: 10 }));
    const handle = await startAll(2);
    const { pendingActivities } = (await handle.describe()).raw;
    const last = Object.fromEntries(
      (pendingActivities ?? []).map(({ activityId, lastFailure }) => [activityId, lastFailure]),
    );
    await change(handle);
    return forgeFor(handle, (name) => ({
      ...last[name],
      applicationFailureInfo: { ...last[name]?.applicationFailureInfo, ...info },
    }));
  }

  it('has an unknown outcome if the failure of an attempt that another one follows is reported as final', async () => {
    expect(await reportAgain({ nonRetryable: true })).toEqual(all(unknown));
  });

  // Promise: queues-sealed
  it('runs on no other queue, to which a caller has moved it, and has an unknown outcome', async () => {
    const ran: string[] = [];
    letHang();
    const hang = act;
    act = async () => {
      const { attempt, activityType, taskQueue } = activityInfo();
      if (attempt > 1) return ran.push(`${activityType} on ${taskQueue}`);
      await hang();
      throw ApplicationFailure.create({ type: 'NotReady', nextRetryDelay: 10 });
    };
    const handle = await startAll();
    const ofUploads = uploadQueue('here');
    for (const { activityId: id, activityOptions } of (await handle.describe()).raw.pendingActivities ?? []) {
      const name = activityOptions?.taskQueue?.name === ofUploads ? buildQueue('here') : ofUploads;
      await connection.workflowService.updateActivityOptions({
        namespace,
        execution: { workflowId },
        id,
        activityOptions: { taskQueue: { name } },
        updateMask: { paths: ['task_queue.name'] },
      });
    }
    release();
    expect(await endsOf(handle)).toEqual(all(unknown));
    expect(ran).toEqual([]);
  });

  // Promise: attempts-of-workflow
  it('has an unknown outcome if a failure is reported again with a delay beyond the time limit', async () => {
    const nextRetryDelay = { seconds: 1_000_000 as never };
    expect(await reportAgain({ nextRetryDelay })).toEqual(all(unknown));
  });

  it('has an unknown outcome if a failure is reported again after a caller has limited the attempts', async () => {
    const limit = (handle: WorkflowHandle): Promise<unknown> =>
      Promise.all(
        everyActivity.map((id) =>
          connection.workflowService.updateActivityOptions({
            namespace,
            execution: { workflowId: handle.workflowId },
            id,
            activityOptions: { retryPolicy: { maximumAttempts: 2 } },
            updateMask: { paths: ['retry_policy.maximum_attempts'] },
          }),
        ),
      );
    expect(await reportAgain({}, limit)).toEqual(all(unknown));
  });

  it('has an unknown outcome if a failure is reported again after a caller has shortened the time limit', async () => {
    const limit = (handle: WorkflowHandle): Promise<unknown> =>
      Promise.all(
        everyActivity.map((id) =>
          connection.workflowService.updateActivityOptions({
            namespace,
            execution: { workflowId: handle.workflowId },
            id,
            activityOptions: { scheduleToCloseTimeout: { seconds: 20 as never } },
            updateMask: { paths: ['schedule_to_close_timeout'] },
          }),
        ),
      );
    const nextRetryDelay = { seconds: 60 as never };
    expect(await reportAgain({ nextRetryDelay }, limit)).toEqual(all(unknown));
  });

  it.each(['SCHEDULE_TO_CLOSE', 'SCHEDULE_TO_START'] as const)(
    'has an unknown outcome if a caller reports the time limit %s before it has passed',
    async (limit) => {
      const timeoutType = temporal.api.enums.v1.TimeoutType[`TIMEOUT_TYPE_${limit}`];
      const cause = { applicationFailureInfo: { type: 'ScriptFailed' } };
      expect(await forge(() => ({ timeoutFailureInfo: { timeoutType }, cause }))).toEqual(all(unknown));
    },
  );

  it('has an unknown outcome if a caller reports lost workers until no attempt is left', async () => {
    const timeoutType = temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_HEARTBEAT;
    const activityId = 'DISOWN';
    const lost: Answer = {
      namespace,
      workflowId,
      activityId,
      failure: { timeoutFailureInfo: { timeoutType } },
    };
    letHang();
    const handle = await startAll();
    await until('no attempt is left', async () => {
      // Between two attempts there is none that could fail.
      await connection.workflowService.respondActivityTaskFailedById(lost).catch(() => undefined);
      const { pendingActivities } = (await handle.describe()).raw;
      return pendingActivities?.every((one) => one.activityId !== activityId) === true;
    });
    const others = everyActivity.filter((name) => name !== activityId);
    expect(await forgeFor(handle, () => ({ terminatedFailureInfo: {} }), others)).toEqual(all(unknown));
  });

  it('timed out if its time limit has passed', async () => {
    letHang();
    const args = [...samples.plan.start];
    const handle = await client.workflow.start('plan', {
      workflowId: shortId,
      taskQueue: workflowQueue,
      args,
    });
    expect(await endsOf(handle)).toEqual(all({ kind: 'Timeout' }));
  });

  it.each([
    ['no attempt is left, or its time limit has passed', 10],
    ['no other attempt fits into its time limit', 10_000],
  ])('has failed as its worker reports if %s', async (_when, nextRetryDelay) => {
    act = () => Promise.reject(ApplicationFailure.create({ type: 'NotReady', nextRetryDelay }));
    const args = [...samples.plan.start];
    const handle = await client.workflow.start('plan', {
      workflowId: shortId,
      taskQueue: workflowQueue,
      args,
    });
    const ends = Object.values(await endsOf(handle)).map((end) => JSON.stringify(end));
    expect(new Set(ends)).toEqual(new Set(nextRetryDelay === 10 ? [notReady, timedOut] : [notReady]));
  });

  it('is cancelled only if its workflow asked for it', async () => {
    expect(await forge(() => ({ canceledFailureInfo: {} }))).toEqual(all(unknown));
    letHang();
    const handle = await startAll();
    const cancelAll = (): Promise<readonly PromiseSettledResult<unknown>[]> =>
      Promise.allSettled(
        everyActivity.map((activityId) =>
          connection.workflowService.respondActivityTaskCanceledById({ namespace, workflowId, activityId }),
        ),
      );
    expect((await cancelAll()).map(({ status }) => status)).toEqual(everyActivity.map(() => 'rejected'));
    await handle.cancel();
    await until('all are cancelled', async () => {
      await cancelAll();
      return ((await handle.describe()).raw.pendingActivities ?? []).length === 0;
    });
    expect(await endsOf(handle)).toEqual(all('cancelled'));
  });
});
