import { join } from 'node:path';
import { ApplicationFailure, Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { HeddleClient } from '../../src/client/index.js';
import { recipientsOf } from '../../src/client/check-keys.js';
import { sealMessages } from '../../src/client/seal-messages.js';
import { clusterWorkflowId, coreQueue, workflowQueue } from '../../src/model/names.js';
import { formatKeys, generateKey, type Key } from '../../src/secrets/key-document.js';
import { importKeys, openKeyRing, parseKeyRing, type KeyRing } from '../../src/secrets/keys.js';
import { dataConverterFor, heddle } from '../../src/temporal-plugin.js';
import { openInputs } from '../../src/worker/open-inputs.js';
import { clusterMessages } from '../../src/workflows/messages.js';
import { makeNamespace } from '../harness/namespace.js';
import { until } from '../harness/until.js';
import { causeOf } from '../harness/workflows/proper-messages.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { countHistory } from '../harness/workflows/message-world.js';
import { newFolder } from '../harness/folder.js';

const [own, other, late] = [generateKey(), generateKey(), generateKey()];
const ringOf = (current: Key, ...keys: readonly Key[]): KeyRing =>
  parseKeyRing(formatKeys({ current: current.id, keys: [current, ...keys] }), 'the test');

let folder: string;
let namespace: string;
let connection: Connection;
let native: NativeConnection;
let workerRing: KeyRing;
/** With the key of the installation, with another one, and with both of which the other one encrypts. */
let clients: Record<'proper' | 'foreign' | 'rotated' | 'late', Client>;
let stop: () => Promise<void>;
/** Whether a key that is not found may still come. */
let isPatient = false;

beforeAll(async () => {
  folder = newFolder();
  await importKeys(join(folder, 'keys'), formatKeys({ current: own.id, keys: [own] }), 'the test');
  workerRing = openKeyRing({ folder: join(folder, 'keys'), create: false });
  connection = await Connection.connect({ address: inject('temporalAddress') });
  native = await NativeConnection.connect({ address: inject('temporalAddress') });
  namespace = await makeNamespace(connection, 'unknown-keys');
  // Without the check of the plugin, as other programs send.
  const clientWith = (keyRing: KeyRing): Client =>
    new Client({
      connection,
      namespace,
      dataConverter: dataConverterFor({ keyRing, namespace }),
      interceptors: {
        workflow: [
          sealMessages({
            recipients: recipientsOf({ connection, namespace }),
            now: () => Promise.resolve(Date.now()),
          }),
        ],
      },
    });
  clients = {
    proper: new Client({ connection, namespace, plugins: [heddle({ keys: ringOf(own), namespace })] }),
    foreign: clientWith(ringOf(other)),
    rotated: clientWith(ringOf(other, own)),
    late: clientWith(ringOf(late)),
  };
  stop = await startWorkers();
});
afterAll(async () => {
  await stop();
  await native.close();
  await connection.close();
});

/**
 * Workflows with the key of the installation; their activities after the start answer under the other key.
 */
async function startWorkers(): Promise<() => Promise<void>> {
  const base = { connection: native, namespace, interceptors: { activity: [openInputs] } };
  let answers = own;
  const both = ringOf(other, own);
  const answering: KeyRing = {
    current: () => answers,
    find: (id) => both.find(id),
    list: () => both.list(),
    source: both.source,
  };
  const activities = {
    FIND_KEY: async ({ key }: { readonly key: string }): Promise<void> => {
      try {
        workerRing.find(key);
      } catch (error) {
        // The real one is repeated for half a minute.
        throw isPatient ? error : ApplicationFailure.nonRetryable(String(error));
      }
    },
    FIND_START: async () => {
      answers = own;
      return { isNew: true };
    },
    PLAN: async (): Promise<never> => {
      answers = other;
      throw ApplicationFailure.nonRetryable('the plan was read', 'Invalid');
    },
  };
  const options: readonly WorkerOptions[] = [
    {
      ...base,
      taskQueue: workflowQueue,
      plugins: [heddle({ keys: workerRing, namespace })],
      workflowBundle: { codePath: inject('workflowBundlePath') },
    },
    { ...base, taskQueue: coreQueue, plugins: [heddle({ keys: answering, namespace })], activities },
  ];
  const workers = await Promise.all(options.map((one) => Worker.create(one)));
  const running = Promise.all(workers.map((worker) => worker.run()));
  return async () => {
    for (const worker of workers) worker.shutdown();
    await running;
  };
}

async function startCluster(name: string): Promise<WorkflowHandle> {
  const workflowId = clusterWorkflowId(name);
  await clients.proper.workflow.start('cluster', { workflowId, taskQueue: workflowQueue, args: [{ name }] });
  const handle = clients.proper.workflow.getHandle(workflowId);
  await handle.query('status');
  return handle;
}

/** Sends a signal under a key that the worker does not have, and waits until that was found out. */
async function signalInVain(handle: WorkflowHandle, by: string): Promise<void> {
  // The result of its first plan is under such a key, too.
  await until('the key of the plan was looked up', async () => (await missedKeys(handle)) > 0);
  const before = await missedKeys(handle);
  await clients.foreign.workflow
    .getHandle(handle.workflowId)
    .signal(clusterMessages.signals.requestDelete, { by });
  await until('the key was looked up', async () => (await missedKeys(handle)) > before);
}

/** How often a key was looked up in vain; other activities fail here, too. */
async function missedKeys(handle: WorkflowHandle): Promise<number> {
  const { events } = await handle.fetchHistory();
  const lookups = (events ?? [])
    .filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'FIND_KEY')
    .map(({ eventId }) => String(eventId));
  return (events ?? []).filter(({ activityTaskFailedEventAttributes: failed }) =>
    lookups.includes(String(failed?.scheduledEventId)),
  ).length;
}

const reasonOf = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'it was accepted',
    (error: unknown) => causeOf(error),
  );

describe('a workflow and messages under a key that its worker does not have', () => {
  let handle: WorkflowHandle;
  let foreign: WorkflowHandle;
  beforeAll(async () => {
    handle = await startCluster('messages');
    foreign = clients.foreign.workflow.getHandle(handle.workflowId);
  });

  it('rejects an update, and says which key is missing', async () => {
    const { acceptedUpdates } = await countHistory(handle);
    const update = clients.rotated.workflow.getHandle(handle.workflowId);
    expect(await reasonOf(update.executeUpdate('delete', { args: [{ by: 'test' }] }))).toContain(other.id);
    expect((await countHistory(handle)).acceptedUpdates).toBe(acceptedUpdates);
  });

  it('fails a query', async () => {
    expect(await reasonOf(foreign.query('spec', 'present'))).not.toBe('it was accepted');
  });

  it('sets a signal aside, and answers others', async () => {
    await signalInVain(handle, 'test');
    expect(await handle.query('status')).toMatchObject({
      phase: expect.not.stringMatching(/delet/) as string,
    });
    expect((await countHistory(handle)).failedTasks).toBe(0);
  });

  it('fails its start, so that its name is free', async () => {
    const workflowId = clusterWorkflowId('foreign');
    await clients.foreign.workflow.start('cluster', {
      workflowId,
      taskQueue: workflowQueue,
      args: [{ name: 'foreign' }],
    });
    const error = await reasonOf(clients.proper.workflow.getHandle(workflowId).result());
    expect(error).toContain(other.id);
    expect(error).toContain('heddle keys import');
  });

  it('refuses a result after the key was looked up in vain', async () => {
    const client = new HeddleClient(clients.proper, { by: 'test' });
    const { operation } = await client.apply(closed({ name: 'results', nodes: { app: nodes(1, []) } }));
    const { status } = await client.waitFor('results', operation);
    expect(JSON.stringify(status)).toContain(`key ${other.id}`);
    expect(
      (await countHistory(clients.proper.workflow.getHandle(clusterWorkflowId('results')))).failedTasks,
    ).toBe(0);
  });
});

describe('a client that does not have the key of a workflow', () => {
  it('sends nothing, and says which key is missing', async () => {
    const handle = await startCluster('checked');
    const before = await countHistory(handle);
    const temporal = new Client({
      connection,
      namespace,
      plugins: [heddle({ keys: ringOf(other), namespace })],
    });
    const client = new HeddleClient(temporal, { by: 'test' });
    const refusal = {
      code: 'Encryption',
      message: expect.stringMatching(
        new RegExp(`nothing was sent.*${own.id}.*not in the test.*heddle keys import`),
      ) as string,
    };
    await expect(client.delete('checked')).rejects.toMatchObject(refusal);
    await expect(client.cancel('checked')).rejects.toMatchObject(refusal);
    await expect(client.status('checked')).rejects.toMatchObject(refusal);
    await expect(client.apply(closed({ name: 'new', nodes: { app: nodes(1, []) } }))).rejects.toMatchObject(
      refusal,
    );
    expect(await countHistory(handle)).toEqual(before);
  });
});

describe('a workflow whose worker gets the key later', () => {
  let waiting: WorkflowHandle;
  // A cluster whose first plan can be read and is rejected would end.
  beforeAll(async () => {
    waiting = await startCluster('meanwhile');
    await until('the result of its plan is refused', async () =>
      JSON.stringify(await waiting.query('status')).includes(`key ${other.id}`),
    );
  });

  it('handles signals from then on, and replays those it ignored as ignored', async () => {
    const handle = await startCluster('later');
    await signalInVain(handle, 'before');
    await importKeys(join(folder, 'keys'), formatKeys({ current: other.id, keys: [other] }), 'the test');
    await replays(handle);
    await clients.foreign.workflow
      .getHandle(handle.workflowId)
      .signal(clusterMessages.signals.requestDelete, { by: 'after' });
    await until('the plan of the deletion was read', async () =>
      JSON.stringify(await handle.query('status')).includes('the plan was read'),
    );
    expect(await failuresOf(handle)).toEqual([]);
    await replays(handle);
  });

  it('handles a signal whose key comes while it is looked up', async () => {
    isPatient = true;
    await clients.late.workflow
      .getHandle(waiting.workflowId)
      .signal(clusterMessages.signals.requestDelete, { by: 'late' });
    await until('the key is looked up', async () =>
      (await waiting.describe()).raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 1),
    );
    expect(await waiting.query('status')).toMatchObject({ name: 'meanwhile' });
    await importKeys(join(folder, 'keys'), formatKeys({ current: late.id, keys: [late] }), 'the test');
    await until('the plan of the deletion was read', async () =>
      JSON.stringify(await waiting.query('status')).includes('the plan was read'),
    );
    // If the payload was decoded before the key came, the task that takes it is repeated.
    expect((await failuresOf(waiting)).length).toBeLessThanOrEqual(1);
    await replays(waiting);
  });

  async function replays({ workflowId }: WorkflowHandle): Promise<void> {
    const history = await clients.proper.workflow.getHandle(workflowId).fetchHistory();
    const plugins = [heddle({ keys: ringOf(own, other, late), namespace })];
    const workflowBundle = { codePath: inject('workflowBundlePath') };
    await Worker.runReplayHistory({ workflowBundle, plugins }, history, workflowId);
  }
});

/** Workflow tasks that failed in a worker; the server fails one to deliver what came meanwhile. */
async function failuresOf(handle: WorkflowHandle): Promise<readonly string[]> {
  const { events } = await clients.proper.workflow.getHandle(handle.workflowId).fetchHistory();
  return (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed && failed.cause !== 1 ? [`${failed.cause} ${failed.failure?.message ?? ''}`] : [],
  );
}
