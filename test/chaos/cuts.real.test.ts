import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { clusterWorkflowId, lockWorkflowId, rateLimiterWorkflowId } from '../../src/model/names.js';
import { replayHistories, runningHistories } from '../../src/replay/index.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { callTimesOf, locksOf } from '../../src/worker/account-workflows.js';
import { poolMessages } from '../../src/workflows/messages.js';
import { openRandom, seedOf, settingOf } from '../harness/chaos/random.js';
import { startGrpcProxy, type GrpcAnswer, type GrpcFate, type GrpcProxy } from '../harness/grpc-proxy.js';
import { openGround } from '../harness/machine/ground.js';
import { startStack, type Stack, type WorkerProcess } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const polled = temporal.api.workflowservice.v1.PollWorkflowTaskQueueResponse;
const kills = settingOf('HEDDLE_KILLS', 6);
const random = openRandom(seedOf(1));
const refusedForNewEvent =
  temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;
/** The workflow that gets plain queries, as the Web UI sends them. */
const queried = lockWorkflowId('serial');
const notFound = { status: 5, text: 'workflow task not found' } as const;

/** What happened to the worker's tasks on their way. */
const counts = { lost: 0, late: 0, forgotten: 0, kills: 0, stops: 0, questions: 0, messages: 0, outdated: 0 };
let isUnsteady = false;

/** Loses tasks, delivers tasks and queries late, and says of completed tasks that they are unknown. */
async function unsteady({ method, message }: GrpcAnswer): Promise<GrpcFate> {
  if (!isUnsteady) return 'pass';
  if (method === 'RespondWorkflowTaskCompleted' && random.between(0, 1) < 0.1) {
    counts.forgotten += 1;
    return notFound;
  }
  if (method !== 'PollWorkflowTaskQueue' || message.length === 0) return 'pass';
  const chance = random.between(0, 1);
  if (polled.decode(message).query == null && chance < 0.1) {
    counts.lost += 1;
    return { message: new Uint8Array() };
  }
  if (chance < 0.35) {
    counts.late += 1;
    // Longer than a task may take, at times.
    await pause(random.between(0, 6_000));
  }
  return 'pass';
}

describe('workflows of all kinds, whose tasks are lost, late and repeated', () => {
  let stack: Stack;
  let proxy: GrpcProxy;
  beforeAll(async () => {
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => undefined),
      telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
    });
    proxy = await startGrpcProxy(inject('temporalAddress'), unsteady);
    stack = await startStack({ temporalAddress: proxy.address, distPath: inject('distPath') });
  });
  afterAll(async () => {
    await stack.stop();
    await proxy.close();
  });

  it(
    'every worker can continue them: a replay gives the same commands',
    { timeout: 300_000 + kills * 30_000 },
    async () => {
      const { client } = stack;
      let worker = await stack.startWorker('worker-0');
      const pool = new PoolClient(client.temporal, 'ci', { by: 'test' });
      await pool.apply({
        name: 'ci',
        tenants: {},
        labels: { a: { minReady: 1, spareAge: 600, onReturn: 'delete' } },
        providerPools: {
          main: {
            provider: 'local',
            priority: 100,
            limits: { nodes: 2 },
            attributes: {},
            launchAttempts: 3,
            labels: { a: { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } } },
          },
        },
      });
      const ground = openGround(stack);
      await ground.add('one');
      let operation = await client.apply(closed({ name: 'web', nodes: { app: nodes(2, []) } }));
      isUnsteady = true;
      let isOver = false;

      const repeat = async (
        everyMs: number,
        what: 'questions' | 'messages',
        ask: () => Promise<unknown>,
      ): Promise<void> => {
        while (!isOver) {
          // A worker that is gone answers nothing; that is not what is tested here.
          await Promise.race([ask().catch(() => undefined), pause(15_000)]);
          counts[what] += 1;
          await pause(random.between(0, everyMs));
        }
      };
      let version = 0;
      const { workflow } = client.temporal;
      const load = [
        repeat(300, 'questions', () => client.status('web')),
        repeat(300, 'questions', () => pool.view()),
        repeat(300, 'questions', () => workflow.getHandle(queried).query('__temporal_workflow_metadata')),
        repeat(500, 'questions', () => client.machines.show('one')),
        repeat(400, 'messages', () =>
          workflow
            .getHandle('pool/ci')
            .signal(poolMessages.signals.imageUpdate, {
              image: 'debian',
              uid: 'u',
              version: (version += 1),
              offers: {},
            }),
        ),
        repeat(500, 'messages', () =>
          locksOf(client.temporal, 'serial').take({
            holder: random.pick(['a', 'b']),
            leaseMs: 500,
            waitMs: 700,
          }),
        ),
        repeat(500, 'messages', () =>
          callTimesOf(client.temporal, 'limited').take({ count: 2, everyMs: 10 }),
        ),
        repeat(2_000, 'messages', () => client.probe('web')),
        repeat(3_000, 'messages', async () => {
          operation = await client.apply(
            closed({ name: 'web', nodes: { app: nodes(random.whole(1, 3), []) } }),
          );
        }),
      ];
      for (let kill = 1; kill <= kills; kill += 1) {
        await pause(random.between(2_000, 8_000));
        worker = await disturb(worker, kill);
      }
      isOver = true;
      await Promise.all(load);
      isUnsteady = false;

      await client.waitFor('web', operation.operation, { patienceMs: 60_000 }).catch((cause: unknown) => {
        throw new Error(
          `the last operation did not end; the worker's log:\n${worker.output().slice(-4_000)}`,
          { cause },
        );
      });
      expect(await pool.view()).toMatchObject({ name: 'ci' });
      expect(await wrongTasks()).toEqual([]);
      const reports: unknown[] = [];
      for await (const report of replayHistories(runningHistories(client.temporal), {
        keys: openKeyRing({ folder: join(stack.folder, 'keys'), create: false }),
        namespace: stack.namespace,
        bundlePath: join(inject('distPath'), 'workflow-bundle.js'),
      }))
        if (!report.ok) reports.push(report);
      expect(reports).toEqual([]);
      for (const id of [clusterWorkflowId('web'), queried, rateLimiterWorkflowId('limited')])
        expect((await workflow.getHandle(id).describe()).status.name).toBe('RUNNING');
      console.log(`${JSON.stringify(counts)}, no command differs`);
    },
  );

  /**
   * Kills the worker, or stops it for longer than its tasks may take; and sometimes again before it is ready.
   */
  async function disturb(worker: WorkerProcess, kill: number): Promise<WorkerProcess> {
    if (random.between(0, 1) < 0.3) {
      counts.stops += 1;
      process.kill(worker.pid, 'SIGSTOP');
      await pause(random.between(1_000, 12_000));
      process.kill(worker.pid, 'SIGCONT');
      return worker;
    }
    counts.kills += 1;
    await worker.kill();
    return stack.startWorker(`worker-${kill}`);
  }

  /**
   * Failures of workflow tasks, apart from completions that the server refused because of a new
   * event, and those that a plain query caused, which are repeated with the whole history
   * (docs/decisions/0034-any-cut.md).
   */
  async function wrongTasks(): Promise<readonly string[]> {
    const wrong: string[] = [];
    for await (const { workflowId, runId } of stack.client.temporal.workflow.list()) {
      const { events } = await stack.client.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
      for (const [index, { workflowTaskFailedEventAttributes: failed }] of (events ?? []).entries()) {
        if (failed == null || failed.cause === refusedForNewEvent) continue;
        const isRepeated = events
          ?.slice(index)
          .some((event) => event.workflowTaskCompletedEventAttributes != null);
        if (isRepeated === true && workflowId === queried) counts.outdated += 1;
        else wrong.push(`${workflowId}: ${failed.failure?.message ?? `cause ${failed.cause}`}`);
      }
    }
    return wrong;
  }
});
