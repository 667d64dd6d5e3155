import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, setPatience } from '../../src/client/call.js';
import { HeddleClient } from '../../src/client/index.js';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import type { PoolSpec } from '../../src/schema/pool/spec.js';
import { openConnection } from '../../src/server/connect.js';
import { type Stack, startStack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

/** It never has a node. */
const emptyPool: PoolSpec = {
  name: 'quiet',
  tenants: {},
  labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete' } },
  providerPools: {
    main: {
      provider: 'local',
      priority: 100,
      limits: { nodes: 0 },
      attributes: {},
      launchAttempts: 1,
      labels: { a: { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } } },
    },
  },
};

describe('a client without an answer', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });

  const spec = closed({ name: 'quiet', nodes: { app: nodes(1, []) } });

  it.concurrent('reports that there is no server, and how to start one', async () => {
    const connection = openConnection({ address: '127.0.0.1:1' });
    try {
      const { plugins } = stack.client.temporal.options;
      const client = new HeddleClient(new Client({ connection, plugins }), { by: 'test' });
      await expect(client.status('quiet')).rejects.toMatchObject({
        code: 'NoServer',
        message: expect.stringMatching(
          /^status quiet: no Temporal server answers at 127\.0\.0\.1:1; start one with 'heddle dev'/,
        ),
      });
    } finally {
      await connection.close();
    }
  });

  it.concurrent('reports a cluster that does not exist', async () => {
    for (const ask of [
      () => stack.client.status('nobody'),
      () => stack.client.delete('nobody'),
      () => stack.client.retry('nobody'),
    ]) {
      await expect(ask()).rejects.toMatchObject({
        code: 'NotFound',
        message: expect.stringContaining('the cluster does not exist'),
      });
    }
  });

  it.concurrent('reports that there is no worker; a later one executes the request', async () => {
    await expect(stack.client.apply(spec)).rejects.toMatchObject({
      code: 'NoWorker',
      message: expect.stringContaining('heddle worker'),
    });
    const silences: string[] = [];
    const waited = stack.client.waitFor('quiet', '1', {
      everyMs: 100,
      onSilence: ({ code }) => silences.push(code),
    });
    while (silences.length === 0) await pause(50);
    const worker = await stack.startWorker();
    expect((await waited).operation.state).toBe('done');
    expect(new Set(silences)).toEqual(new Set(['NoWorker']));
    const { operation = '' } = await stack.client.delete('quiet');
    await stack.client.waitFor('quiet', operation);
    await worker.stop();
  });

  it('waits for a worker that polls longer than it would wait without one', async () => {
    const worker = await stack.startWorker();
    const { temporal } = stack.client;
    setPatience(temporal, 8_000);
    const late = (): Promise<string> => pause(22_000).then(() => 'late');
    const options = { waitMs: 10_000, workflowId: 'cluster/quiet' };
    expect(await call(temporal, 'ask', late, options)).toBe('late');
    await worker.stop();
  });

  it('waits for a worker that is busy or restarts, with requests for nodes', async () => {
    const { temporal } = stack.client;
    const pool = new PoolClient(temporal, 'quiet', { by: 'test' });
    const first = await stack.startWorker();
    await pool.apply(emptyPool);
    await first.stop();
    setPatience(temporal, 1);
    const asked = pool.request(['a']);
    // As a command does that waits no longer than the deadline of one call.
    await expect(pool.view()).rejects.toMatchObject({ code: 'NoWorker', isBusy: true });
    const second = await stack.startWorker();
    expect(await asked).toMatchObject({ requester: 'test' });
    await pool.deletePool();
    await pool.gone();
    await second.stop();
  });
});
