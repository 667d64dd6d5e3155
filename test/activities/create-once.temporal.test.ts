import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTaskActivities } from '../../src/activities/table.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { heddle } from '../../src/temporal-plugin.js';
import { readWorkflowRuns } from '../../src/worker/workflow-runs.js';
import { TestService } from '../harness/local/service.js';
import { until } from '../harness/until.js';
import type { createOne } from '../harness/activities/fixture-workflows.js';
import { type MachineBench, openMachineBench, taskOn } from '../harness/activities/machines.js';

const key = generateKey();
const plugin = heddle({ keys: formatKeys({ current: key.id, keys: [key] }) });
const taskQueue = `once-${randomUUID()}`;

let connection: Connection;
let native: NativeConnection;
let client: Client;
let service: TestService;
let bench: MachineBench;
let worker: Worker;
let running: Promise<void>;
let workflowBundle: Awaited<ReturnType<typeof bundleWorkflowCode>>;

async function startWorker(): Promise<void> {
  worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle,
    plugins: [plugin],
    activities: createTaskActivities(bench.parts),
    shutdownGraceTime: 0,
  });
  running = worker.run();
}

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const address = inject('temporalAddress');
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  client = new Client({ connection, plugins: [plugin] });
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

const create = (hostname: string): Promise<WorkflowHandle<typeof createOne>> =>
  client.workflow.start<typeof createOne>('createOne', {
    workflowId: `once-${randomUUID()}`,
    taskQueue,
    args: [taskOn(hostname)],
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
      `machine ${hostname} was sent to provider here, and it is unknown whether it was made.*Look there for a machine named ${hostname}.*heddle retry web`,
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
    let refusals = 2;
    const { resolveSecrets } = bench.parts;
    const shaky = await openMachineBench(service, {
      like: bench,
      descriptor: { idempotency: 'none' },
      changes: {
        runs: bench.parts.runs,
        resolveSecrets: async (value, origin) => {
          if (refusals > 0) {
            refusals -= 1;
            throw Object.assign(new Error('the vault does not answer'), {
              name: 'PluginError',
              kind: 'Retryable',
            });
          }
          return resolveSecrets(value, origin);
        },
      },
    });
    const queue = `${taskQueue}-shaky`;
    const other = await Worker.create({
      connection: native,
      taskQueue: queue,
      workflowBundle,
      plugins: [plugin],
      activities: createTaskActivities(shaky.parts),
      shutdownGraceTime: 0,
    });
    const outcome = await other.runUntil(
      client.workflow.execute<typeof createOne>('createOne', {
        workflowId: `once-${randomUUID()}`,
        taskQueue: queue,
        args: [taskOn('shaky')],
      }),
    );
    expect(outcome).toMatchObject({ result: { providerid: expect.any(String) } });
    expect(refusals).toBe(0);
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
    'an empty last heartbeat': (task) => fail(task, { lastHeartbeatDetails: { payloads: [] } }),
    'an empty heartbeat': async (task) => {
      await client.workflowService.recordActivityTaskHeartbeatById(task);
      return fail(task);
    },
    'a reset of the activity': async ({ activityId: id, ...task }) => {
      const execution = { workflowId: task.workflowId };
      await client.workflowService.resetActivity({ ...task, execution, id, resetHeartbeat: true });
      return fail({ ...task, activityId: id });
    },
  };
  // Promise: create-sent-once
  it.each(Object.entries(hidings))('is not repeated if its intent is hidden by %s', async (name, hide) => {
    const hostname = `hidden-${name.replaceAll(' ', '-')}`;
    const { body } = await service.call('POST', '/v1/faults', {
      fault: 'hold-answer',
      operation: 'create',
      hostname,
    });
    const handle = await create(hostname);
    await until('it was sent', async () => (await calls(hostname)) === 1);
    const [pending] = (await handle.describe()).raw.pendingActivities ?? [];
    await hide({
      namespace: 'default',
      workflowId: handle.workflowId,
      activityId: pending?.activityId ?? '',
    });
    expect(await failureOf(handle)).toMatchObject(quarantined(hostname));
    await service.call('DELETE', `/v1/faults/${(body as { readonly id: string }).id}`);
    expect(await calls(hostname)).toBe(1);
  });
});

interface PendingTask {
  readonly namespace: string;
  readonly workflowId: string;
  readonly activityId: string;
}

function fail(task: PendingTask, more: object = {}): Promise<unknown> {
  return client.workflowService.respondActivityTaskFailedById({
    ...task,
    ...more,
    failure: { message: 'no', applicationFailureInfo: { type: 'Retryable' } },
  });
}
