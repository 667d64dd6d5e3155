import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { HeddleError } from '../../src/client/errors.js';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { unreadHistory } from '../../src/model/unread-history.js';
import { replayHistories } from '../../src/replay/index.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { imageUpdateSignal } from '../../src/workflows/image/messages.js';
import { poolQuery } from '../../src/workflows/pool/messages.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

describe('a query that waits for a worker during changes', () => {
  let stack: Stack;
  beforeAll(async () => {
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => undefined),
      telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
    });
    stack = await startStack({ temporalAddress: inject('temporalAddress'), distPath: inject('distPath') });
  });
  afterAll(async () => {
    await stack.stop();
  });

  it('is refused by a worker that would have to advance the workflow, and answered when it is repeated', async () => {
    const { temporal } = stack.client;
    const pool = new PoolClient(temporal, 'ci', { by: 'test' });
    const handle = temporal.workflow.getHandle('pool/ci');
    const asksOnce = new Client({
      connection: temporal.connection,
      namespace: stack.namespace,
      dataConverter: temporal.options.dataConverter,
    });
    const countEvents = async () => ((await handle.fetchHistory()).events ?? []).length;
    let worker = await stack.startWorker('first');
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
    const refused: string[] = [];
    // Which of query and task a worker takes first is chance.
    for (let round = 1; round <= 20 && refused.length === 0; round += 1) {
      await worker.stop();
      // Else the queries wait at the door of the worker that is gone.
      await temporal.workflowService.resetStickyTaskQueue({
        namespace: stack.namespace,
        execution: { workflowId: 'pool/ci' },
      });
      const before = await countEvents();
      const once = asksOnce.workflow
        .getHandle('pool/ci')
        .query(poolQuery)
        .catch((error: unknown) => refused.push(String(error)));
      const patient = pool.view();
      await pause(200);
      await handle.signal(imageUpdateSignal, { image: 'debian', uid: 'u', version: round, offers: {} });
      await until('the signal stands in the history', async () => (await countEvents()) > before);
      worker = await stack.startWorker(`worker-${round}`);
      // Several that wait at once may outlive the task that they were asked before; then nobody answers.
      const answer = await patient.catch((error: unknown) => {
        if (!(error instanceof HeddleError) || error.code !== 'NoWorker') throw error;
      });
      if (answer !== undefined) expect(answer).toMatchObject({ name: 'ci' });
      await once;
      expect(await pool.view()).toMatchObject({ name: 'ci' });
    }
    expect(refused.join()).toContain(unreadHistory.message);
    await worker.stop();
    const keys = openKeyRing({ folder: join(stack.folder, 'keys'), create: false });
    for await (const report of replayHistories([{ history: await handle.fetchHistory() }], {
      keys,
      namespace: stack.namespace,
      bundlePath: join(inject('distPath'), 'workflow-bundle.js'),
    })) {
      expect(report).toMatchObject({ ok: true });
    }
  });
});
