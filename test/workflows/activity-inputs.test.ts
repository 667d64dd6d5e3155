import { fileURLToPath } from 'node:url';
import { Client, type WorkflowFailedError } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { activityTable } from '../../src/model/activities.js';
import { coreQueue, providerQueue, siteQueue } from '../../src/model/names.js';
import { type Stack, startStack } from '../harness/stack.js';
import type { schedule } from '../harness/workflows/attacker-workflows.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const site = 'default';
const attackerQueue = 'attacker';
/** Stands for the recorded payload, which the attacker's codec puts in its place. */
const recordedMark = 'the recorded payload';

let stack: Stack;
let attacker: Client;
let native: NativeConnection;
let worker: Worker;
let running: Promise<void>;
/** The input of the CREATE that made the cluster's machine, as it stands encrypted in the history. */
let recorded: Payload;

const unreadable: Payload = {
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from('{"message":"","stack_trace":""}'),
};

/**
 * May do all that the server permits, and has no keys: what it sends is plaintext, or a copy of what it read.
 */
const withoutKeys = {
  payloadCodecs: [
    {
      encode: (payloads: Payload[]) =>
        Promise.resolve(
          payloads.map((payload) =>
            String(Buffer.from(payload.data ?? [])) === JSON.stringify(recordedMark) ? recorded : payload,
          ),
        ),
      // It cannot read failures, and sees their types.
      decode: (payloads: Payload[]) =>
        Promise.resolve(
          payloads.map((payload) =>
            String(Buffer.from(payload.metadata?.['encoding'] ?? [])) === 'binary/encrypted'
              ? unreadable
              : payload,
          ),
        ),
    },
  ],
};

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  stack = await startStack();
  await stack.startWorker();
  const { operation } = await stack.client.apply(closed({ name: 'web', nodes: { app: nodes(1, []) } }));
  expect((await stack.client.waitFor('web', operation, { everyMs: 100 })).operation.state).toBe('done');
  const { events } = await stack.client.temporal.workflow.getHandle('cluster/web').fetchHistory();
  const create = events?.find(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'CREATE',
  );
  recorded = create?.activityTaskScheduledEventAttributes?.input?.payloads?.[0] ?? {};
  expect(recorded.data).toBeDefined();
  const workflowsPath = fileURLToPath(new URL('../harness/workflows/attacker-workflows.ts', import.meta.url));
  native = await NativeConnection.connect({ address: inject('temporalAddress') });
  worker = await Worker.create({
    connection: native,
    namespace: stack.namespace,
    taskQueue: attackerQueue,
    dataConverter: withoutKeys,
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') }),
  });
  running = worker.run();
  attacker = new Client({
    connection: stack.client.temporal.connection,
    namespace: stack.namespace,
    dataConverter: withoutKeys,
  });
});
afterAll(async () => {
  worker.shutdown();
  await running;
  await native.close();
  await stack.stop();
});

/** Has the attacker's workflow, of an id of its choice, schedule an activity; gives how that failed. */
async function attack(
  workflowId: string,
  activity: string,
  taskQueue: string,
  args: readonly unknown[],
): Promise<unknown> {
  const error: unknown = await attacker.workflow
    .execute<typeof schedule>('schedule', {
      workflowId,
      taskQueue: attackerQueue,
      args: [activity, taskQueue, args],
    })
    .then(
      (result) => `it returned ${JSON.stringify(result)}`,
      (reason: unknown) => reason,
    );
  return (error as WorkflowFailedError).cause?.cause ?? error;
}

const refused = { type: 'Invalid', nonRetryable: true };

/** All activities, each with a queue whose workers have it. */
const activities = Object.entries(activityTable).map(([name, { queue }]) => {
  const queues = { core: coreQueue, site: siteQueue(site) } as const;
  return [name, queue === 'core' || queue === 'site' ? queues[queue] : providerQueue(site, 'local')] as const;
});

describe("an attacker without keys who schedules Heddle's activities", () => {
  // Promise: activities-sealed
  it('is refused the recorded input of CREATE for DELETE, and the machine lives', async () => {
    const before = await stack.service.machines();
    expect(before).toHaveLength(1);
    expect(
      await attack('plan/attacker', 'DELETE', providerQueue(site, 'local'), [recordedMark]),
    ).toMatchObject(refused);
    expect(await stack.service.machines()).toEqual(before);
    expect(await stack.service.journal('delete')).toEqual([]);
  });

  it('is refused every activity with plaintext, a refusal mark, no input, or the input of another', async () => {
    const inputs: readonly (readonly unknown[])[] = [
      [{ heddle: 'activity CREATE', args: [{}] }],
      [{ heddleRefused: 'no' }],
      [],
      [recordedMark],
    ];
    let attacks = 0;
    for (const [activity, queue] of activities) {
      await Promise.all(
        inputs
          .filter(([input]) => activity !== 'CREATE' || input !== recordedMark)
          .map(async (args) => {
            attacks += 1;
            expect(
              await attack(`plan/attack-${attacks}`, activity, queue, args),
              `${activity} ${JSON.stringify(args)}`,
            ).toMatchObject(refused);
          }),
      );
    }
    expect(await stack.service.machines()).toHaveLength(1);
  });

  it('is refused DELETE also from a workflow that has the id of the cluster', async () => {
    await stack.client.temporal.workflow.getHandle('cluster/web').terminate();
    expect(await attack('cluster/web', 'DELETE', providerQueue(site, 'local'), [recordedMark])).toMatchObject(
      refused,
    );
    expect(await stack.service.journal('delete')).toEqual([]);
    expect(await stack.service.machines()).toHaveLength(1);
  });
});
