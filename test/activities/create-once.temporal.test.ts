import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTaskActivities } from '../../src/activities/table.js';
import { skewMs } from '../../src/model/messages/envelope.js';
import type { TaskRequest } from '../../src/model/node/task-request.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { heddle } from '../../src/temporal-plugin.js';
import { readWorkflowRuns } from '../../src/worker/workflow-runs.js';
import { TestService } from '../harness/local/service.js';
import { makeNamespace } from '../harness/namespace.js';
import { until } from '../harness/until.js';
import type { createOne } from '../harness/activities/fixture-workflows.js';
import { type MachineBench, openMachineBench, taskOn } from '../harness/activities/machines.js';

const key = generateKey();
const taskQueue = `once-${randomUUID()}`;

let connection: Connection;
let native: NativeConnection;
let client: Client;
let namespace: string;
let plugin: ReturnType<typeof heddle>;
let service: TestService;
let bench: MachineBench;
let worker: Worker;
let running: Promise<void>;
let workflowBundle: Awaited<ReturnType<typeof bundleWorkflowCode>>;

async function startWorker(): Promise<void> {
  worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue,
    workflowBundle,
    plugins: [plugin],
    activities: createTaskActivities(bench.parts),
    shutdownGraceTime: 0,
    maxHeartbeatThrottleInterval: 300,
  });
  running = worker.run();
}

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
    descriptor: { idempotency: 'none', callDeadlineMs: 3_000 },
    changes: { runs: readWorkflowRuns(client) },
  });
  const workflowsPath = fileURLToPath(new URL('../harness/activities/fixture-workflows.ts', import.meta.url));
  workflowBundle = await bundleWorkflowCode({
    workflowsPath,
    plugins: [plugin],
    logger: new DefaultLogger('ERROR'),
  });
  await startWorker();
});
afterAll(async () => {
  worker.shutdown();
  await running;
  await bench.close();
  await native.close();
  await connection.close();
});

async function calls(hostname: string): Promise<number> {
  const { body } = await service.call('GET', '/v1/journal?operation=create&limit=100000');
  return (body as { readonly entries: readonly { readonly hostname?: string }[] }).entries.filter(
    (entry) => entry.hostname === hostname,
  ).length;
}

const create = (
  hostname: string,
  more: Partial<TaskRequest> = {},
  queue = taskQueue,
): Promise<WorkflowHandle<typeof createOne>> =>
  client.workflow.start<typeof createOne>('createOne', {
    workflowId: `once-${randomUUID()}`,
    taskQueue: queue,
    args: [taskOn(hostname, {}, more)],
  });

async function failureOf(handle: WorkflowHandle<typeof createOne>): Promise<unknown> {
  const error: unknown = await handle.result().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const { cause } = error as { cause?: { cause?: unknown } };
  return cause?.cause;
}

const quarantined = (hostname: string) => ({
  type: 'UnknownOutcome',
  nonRetryable: true,
  message: expect.stringMatching(
    new RegExp(
      `machine ${hostname} was sent to provider here, and it is unknown whether the machine was created.*Look there for a machine named ${hostname}.*heddle retry web`,
    ),
  ),
});

describe('CREATE at a provider that cannot report the result of a lost call', () => {
  it('records its intent before it calls', async () => {
    const { body } = await service.call('POST', '/v1/faults', {
      fault: 'hold-answer',
      operation: 'create',
      hostname: 'plain',
    });
    const handle = await create('plain');
    await until('it was sent', async () => (await calls('plain')) === 1);
    const { runId } = await handle.describe();
    expect((await readWorkflowRuns(client).describe(handle.workflowId, runId))?.pending).toMatchObject([
      { attempt: 1, heartbeat: { mark: 'sent' } },
    ]);
    await service.call('DELETE', `/v1/faults/${(body as { readonly id: string }).id}`);
    expect(await handle.result()).toMatchObject({ result: { providerid: expect.any(String) } });
    expect(await calls('plain')).toBe(1);
  });

  it('is not repeated if its answer was lost; the error names the machine to look for', async () => {
    await service.call('POST', '/v1/faults', { fault: 'lose-answer', operation: 'create', hostname: 'lost' });
    expect(await failureOf(await create('lost'))).toMatchObject(quarantined('lost'));
    expect(await calls('lost')).toBe(1);
  });

  it('is not repeated if it was not answered in time', async () => {
    const { body } = await service.call('POST', '/v1/faults', {
      fault: 'hold-answer',
      operation: 'create',
      hostname: 'slow',
    });
    expect(await failureOf(await create('slow'))).toMatchObject(quarantined('slow'));
    await service.call('DELETE', `/v1/faults/${(body as { readonly id: string }).id}`);
    expect(await calls('slow')).toBe(1);
  });

  it('fails as the provider said if it was refused before anything was created', async () => {
    await service.call('POST', '/v1/faults', { fault: 'no-capacity', hostname: 'full' });
    expect(await failureOf(await create('full'))).toMatchObject({ type: 'Capacity' });
  });

  it('is repeated if it failed before it was sent, and creates one machine', async () => {
    await shakily(2, async (queue) => {
      const handle = await create('shaky', {}, queue);
      expect(await handle.result()).toMatchObject({ result: { providerid: expect.any(String) } });
    });
    expect(await calls('shaky')).toBe(1);
  });

  it('is not repeated by the next worker if its worker died during the call', async () => {
    const { body } = await service.call('POST', '/v1/faults', {
      fault: 'hold-answer',
      operation: 'create',
      hostname: 'orphaned',
    });
    const handle = await create('orphaned');
    await until('it was sent', async () => (await calls('orphaned')) === 1);
    worker.shutdown();
    await running;
    await startWorker();
    expect(await failureOf(handle)).toMatchObject(quarantined('orphaned'));
    await service.call('DELETE', `/v1/faults/${(body as { readonly id: string }).id}`);
    expect(await calls('orphaned')).toBe(1);
  });

  // A caller of the server without keys has the task repeated, and hides what its first attempt has recorded.
  const hidings: Readonly<Record<string, (task: PendingTask) => Promise<unknown>>> = {
    'its input as the last heartbeat': async (task) => {
      const { events } = await client.workflow.getHandle(task.workflowId).fetchHistory();
      const scheduled = events?.find((event) => event.activityTaskScheduledEventAttributes);
      const { input } = scheduled?.activityTaskScheduledEventAttributes ?? {};
      return fail(task, { lastHeartbeatDetails: input });
    },
    'an empty last heartbeat': (task) => fail(task, emptied),
    'an empty heartbeat': async (task) => {
      await client.workflowService.recordActivityTaskHeartbeatById(task);
      return fail(task);
    },
    'a reset of the activity': async ({ activityId: id, ...task }) => {
      const execution = { workflowId: task.workflowId };
      await client.workflowService.resetActivity({ ...task, execution, id, resetHeartbeat: true });
      return fail({ ...task, activityId: id });
    },
    'a reset of the paused activity': async ({ activityId: id, ...task }) => {
      const execution = { workflowId: task.workflowId };
      await client.workflowService.pauseActivity({ ...task, execution, id });
      await fail({ ...task, activityId: id });
      return client.workflowService.resetActivity({ ...task, execution, id, resetHeartbeat: true });
    },
    'the end of a pause that counts its attempts anew': async ({ activityId: id, ...task }) => {
      const execution = { workflowId: task.workflowId };
      const anew = { resetAttempts: true, resetHeartbeat: true };
      await client.workflowService.pauseActivity({ ...task, execution, id });
      await fail({ ...task, activityId: id });
      return client.workflowService.unpauseActivity({ ...task, execution, id, ...anew });
    },
    'a time limit that is over': async (task) => {
      await client.workflowService.updateActivityOptions({
        ...task,
        execution: { workflowId: task.workflowId },
        id: task.activityId,
        activityOptions: { startToCloseTimeout: { nanos: 1_000_000 } },
        updateMask: { paths: ['start_to_close_timeout'] },
      });
      return fail(task, emptied).catch(() => undefined);
    },
    'a reset of the workflow': resetWorkflow,
  };
  // Promise: create-sent-once
  it.each(Object.entries(hidings))('is not repeated if its intent is hidden by %s', async (name, hide) => {
    const hostname = `hidden-${name.replaceAll(' ', '-')}`;
    const fault = await hold(hostname);
    const { workflowId } = await create(hostname);
    await until('it was sent', async () => (await calls(hostname)) === 1);
    const handle = client.workflow.getHandle<typeof createOne>(workflowId);
    await hide(await taskOf(handle));
    expect(await failureOf(handle)).toMatchObject(quarantined(hostname));
    await service.call('DELETE', `/v1/faults/${fault}`);
    expect(await calls(hostname)).toBe(1);
  });

  // Promise: create-sent-once
  it('is not repeated by the heartbeat of an attempt that had not sent it', async () => {
    const hostname = 'not-sent-before';
    await shakily(1, async (taskQueue) => {
      const fault = await hold(hostname);
      const handle = await create(hostname, {}, taskQueue);
      let before: object | undefined;
      await until('it was sent', async () => {
        const [pending] = (await handle.describe()).raw.pendingActivities ?? [];
        if (pending?.heartbeatDetails && (await calls(hostname)) === 0) before = pending.heartbeatDetails;
        return (await calls(hostname)) === 1;
      });
      const { activityId: id, ...task } = await taskOf(handle);
      const execution = { workflowId: task.workflowId };
      await client.workflowService.resetActivity({ ...task, execution, id });
      await fail({ ...task, activityId: id }, { lastHeartbeatDetails: before ?? { payloads: [] } });
      expect(await failureOf(handle)).toMatchObject(quarantined(hostname));
      await service.call('DELETE', `/v1/faults/${fault}`);
      expect(await calls(hostname)).toBe(1);
    });
  });

  it('is sent again after a reset if a person has looked for the machine since', async () => {
    const hostname = 'looked';
    const fault = await hold(hostname);
    const absenceConfirmedAt = Date.now() + 2 * skewMs;
    const { workflowId } = await create(hostname, { absenceConfirmedAt });
    await until('it was sent', async () => (await calls(hostname)) === 1);
    await resetWorkflow(await taskOf(client.workflow.getHandle(workflowId)));
    await until('it was sent again', async () => (await calls(hostname)) === 2);
    await service.call('DELETE', `/v1/faults/${fault}`);
    await client.workflow.getHandle(workflowId).result();
  });

  it('is sent after an earlier task only if a person has looked for the machine since', async () => {
    const begun = { createBegun: true } as const;
    expect(await failureOf(await create('begun', begun))).toMatchObject(quarantined('begun'));
    expect(await calls('begun')).toBe(0);
    await (await create('begun', { ...begun, absenceConfirmedAt: Date.now() })).result();
    expect(await calls('begun')).toBe(1);
  });
});

interface PendingTask {
  readonly namespace: string;
  readonly workflowId: string;
  readonly activityId: string;
}

const emptied = { lastHeartbeatDetails: { payloads: [] } };

async function taskOf(handle: WorkflowHandle): Promise<PendingTask> {
  const [pending] = (await handle.describe()).raw.pendingActivities ?? [];
  return { namespace, workflowId: handle.workflowId, activityId: pending?.activityId ?? '' };
}

function fail(task: PendingTask, more: object = {}): Promise<unknown> {
  return client.workflowService.respondActivityTaskFailedById({
    ...task,
    ...more,
    failure: { message: 'no', applicationFailureInfo: { type: 'Retryable' } },
  });
}

async function resetWorkflow({ namespace, workflowId }: PendingTask): Promise<void> {
  const handle = client.workflow.getHandle(workflowId);
  const { events } = await handle.fetchHistory();
  await client.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId, runId: (await handle.describe()).runId },
    reason: 'no keys',
    requestId: randomUUID(),
    workflowTaskFinishEventId: events?.findLast((event) => event.workflowTaskCompletedEventAttributes)
      ?.eventId,
  });
}

async function hold(hostname: string): Promise<string> {
  const fault = { fault: 'hold-answer', operation: 'create', hostname, count: 10 };
  const { body } = await service.call('POST', '/v1/faults', fault);
  return (body as { readonly id: string }).id;
}

/** With a worker whose vault does not answer at first. */
async function shakily(refusals: number, work: (taskQueue: string) => Promise<void>): Promise<void> {
  let left = refusals;
  const { resolveSecrets } = bench.parts;
  const shaky = await openMachineBench(service, {
    like: bench,
    descriptor: { idempotency: 'none', callDeadlineMs: 3_000 },
    changes: {
      runs: bench.parts.runs,
      resolveSecrets: async (value, origin) => {
        if (left === 0) return resolveSecrets(value, origin);
        left -= 1;
        throw Object.assign(new Error('the vault does not answer'), {
          name: 'PluginError',
          kind: 'Retryable',
        });
      },
    },
  });
  const queue = `${taskQueue}-${randomUUID()}`;
  const other = await Worker.create({
    connection: native,
    namespace,
    taskQueue: queue,
    workflowBundle,
    plugins: [plugin],
    activities: createTaskActivities(shaky.parts),
    shutdownGraceTime: 0,
  });
  await other.runUntil(work(queue));
  expect(left).toBe(0);
}
