import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { replayHistories } from '../../src/replay/index.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { poolMessages } from '../../src/workflows/messages.js';
import { startGrpcProxy, type GrpcProxy } from '../harness/grpc-proxy.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

const polled = temporal.api.workflowservice.v1.PollWorkflowTaskQueueResponse;
const notFound = 5;

describe('a query that reaches its worker after further events', () => {
  let stack: Stack;
  let proxy: GrpcProxy;
  /** Tasks of the pool are lost on their way to the worker, so they time out. */
  let losesTasks = false;
  /** The worker is told that its next completed task was not found, so it forgets the workflow. */
  let forgets = false;
  /** Queries of the pool wait for this. */
  let queryGate = Promise.resolve();
  let waitingQueries = 0;

  beforeAll(async () => {
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => undefined),
      telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
    });
    proxy = await startGrpcProxy(inject('temporalAddress'), async ({ method, message }) => {
      if (method === 'RespondWorkflowTaskCompleted' && forgets) {
        forgets = false;
        return { status: notFound, text: 'workflow task not found' };
      }
      if (method !== 'PollWorkflowTaskQueue' || message.length === 0) return 'pass';
      const { workflowExecution, query } = polled.decode(message);
      if (workflowExecution?.workflowId !== 'pool/ci') return 'pass';
      if (query === undefined || query === null) return losesTasks ? { message: new Uint8Array() } : 'pass';
      waitingQueries += 1;
      await queryGate;
      return 'pass';
    });
    stack = await startStack({ temporalAddress: proxy.address, distPath: inject('distPath') });
  });
  afterAll(async () => {
    await stack.stop();
    await proxy.close();
  });

  it('does not move the workflow: a replay gives the same commands', async () => {
    const { temporal: client } = stack.client;
    const pool = new PoolClient(client, 'ci', { by: 'test' });
    const handle = client.workflow.getHandle('pool/ci');
    const count = async (type: keyof typeof attributesOf): Promise<number> =>
      ((await handle.fetchHistory()).events ?? []).filter((event) => event[attributesOf[type]]).length;
    let version = 0;
    const signal = (): Promise<void> =>
      handle.signal(poolMessages.signals.imageUpdate, {
        image: 'debian',
        uid: 'u',
        version: (version += 1),
        offers: {},
      });
    await stack.startWorker();
    await pool.apply({
      name: 'ci',
      tenants: {},
      labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete' } },
      providerPools: {
        main: {
          provider: 'local',
          priority: 100,
          limits: { nodes: 0 },
          attributes: {},
          launchAttempts: 3,
          labels: { a: { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } } },
        },
      },
    });
    await pause(500);
    const completed = await count('completed');
    forgets = true;
    await signal();
    await until('the task of the first signal is done', async () => (await count('completed')) > completed);
    // The query is on its way; meanwhile a task times out and another signal arrives.
    let openGate = (): void => undefined;
    queryGate = new Promise((resolve) => {
      openGate = resolve;
    });
    // As the Web UI asks; Heddle's own clients read by updates.
    const view = handle.query(poolMessages.queries.pool);
    await until('the query is on its way', async () => waitingQueries > 0);
    losesTasks = true;
    await signal();
    await until('the lost task timed out', async () => (await count('timedOut')) > 0);
    await signal();
    openGate();
    const early = await Promise.race([view, pause(3_000)]);
    losesTasks = false;
    expect(await view).toMatchObject({ name: 'ci' });
    await signal();
    const signals = await count('signaled');
    expect(signals).toBe(4);
    expect(await pool.view()).toMatchObject({ name: 'ci' });

    const keys = openKeyRing({ folder: join(stack.folder, 'keys'), create: false });
    for await (const report of replayHistories([{ history: await handle.fetchHistory() }], {
      keys,
      namespace: stack.namespace,
      bundlePath: join(inject('distPath'), 'workflow-bundle.js'),
    })) {
      expect(report).toMatchObject({ ok: true });
    }
    expect(early).toBeUndefined();
  });
});

const attributesOf = {
  completed: 'workflowTaskCompletedEventAttributes',
  timedOut: 'workflowTaskTimedOutEventAttributes',
  signaled: 'workflowExecutionSignaledEventAttributes',
} as const;
