import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import { poolWorkflowId } from '../../../src/model/names.js';
import { replayHistories, type HistoryToReplay } from '../../../src/replay/index.js';
import { openKeyRing } from '../../../src/secrets/keys.js';
import { settingOf } from '../../harness/chaos/random.js';
import { startStack, type Stack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';

let stack: Stack;
let pool: PoolClient;
beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  stack = await startStack();
  pool = new PoolClient(stack.client.temporal, 'ci', { by: 'test' });
});
afterAll(async () => {
  await stack.stop();
});

/** What keeps a worker that knows nothing of it from reading any run of the pool. */
async function unreadable(): Promise<readonly unknown[]> {
  const histories: HistoryToReplay[] = [];
  for (let runId: string | undefined; runId !== '';) {
    const history = await stack.client.temporal.workflow
      .getHandle(poolWorkflowId('ci'), runId)
      .fetchHistory();
    histories.push({ history });
    runId = history.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  }
  const keys = openKeyRing({ folder: join(stack.folder, 'keys'), create: false });
  const errors: unknown[] = [];
  const options = {
    keys,
    namespace: stack.namespace,
    bundlePath: join(inject('distPath'), 'workflow-bundle.js'),
  };
  for await (const { error } of replayHistories(histories, options))
    if (error !== undefined) errors.push(error);
  return errors;
}

describe('a pool whose workers are killed during many requests', () => {
  it('serves all requests, and each worker continues the work of another', async () => {
    let worker = await stack.startWorker('first');
    const offer = { hardware: 'tiny', image: 'host', fields: {}, uses: { nodes: 1 } };
    await pool.apply({
      name: 'ci',
      tenants: {},
      labels: { a: { minReady: 2, spareAge: 600, onReturn: 'delete' } },
      providerPools: {
        main: {
          provider: 'local',
          priority: 100,
          limits: { nodes: 12 },
          attributes: {},
          launchAttempts: 3,
          labels: { a: offer },
        },
      },
    });
    let isOver = false;
    let served = 0;
    const surely = async <Value>(ask: () => Promise<Value>): Promise<Value> => {
      for (;;) {
        try {
          return await ask();
        } catch (error) {
          if (!/NoWorker|NoServer/.test(String((error as { readonly code?: unknown }).code))) throw error;
          await pause(100);
        }
      }
    };
    const guest = async (): Promise<void> => {
      while (!isOver) {
        const { id } = await surely(() => pool.obtain(['a']));
        served += 1;
        await surely(() => pool.return(id));
      }
    };
    // Somebody is always asking, so that queries wait for the worker that comes.
    const onlooker = async (): Promise<void> => {
      for (; !isOver; await pause(30)) await pool.view().catch(() => undefined);
    };
    const all = Promise.all([
      guest(),
      guest(),
      guest(),
      guest(),
      guest(),
      guest(),
      onlooker(),
      onlooker(),
      onlooker(),
    ]);
    for (let kills = settingOf('HEDDLE_POOL_KILLS', 4); kills > 0; kills -= 1) {
      const before = served;
      await until('a request is served', () => served > before);
      await worker.kill();
      await pause(300);
      worker = await stack.startWorker(`after-${kills}`);
    }
    isOver = true;
    await all;
    expect(await unreadable()).toEqual([]);
    await pool.deletePool();
    await pool.gone();
    expect((await stack.service.machines()).filter(({ state }) => state !== 'gone')).toEqual([]);
    await worker.stop();
  });
});
