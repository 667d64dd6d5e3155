import { defineQuery } from '@temporalio/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { read } from '../../src/client/read.js';
import { poolMessages } from '../../src/workflows/messages.js';
import { startStack, type Stack } from '../harness/stack.js';

describe('reading a workflow', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
    await pool().apply({
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
  });

  const pool = () => new PoolClient(stack.client.temporal, 'ci', { by: 'test' });
  const handle = () => stack.client.temporal.workflow.getHandle('pool/ci');
  const lengthOf = async () => (await handle().describe()).historyLength;

  it('leaves no event in its history, however often and by however many', async () => {
    expect(await read(handle(), poolMessages.queries.pool)).toMatchObject({ name: 'ci' });
    const before = await lengthOf();
    // More at once than the server admits.
    const views = await Promise.all(
      Array.from({ length: 40 }, () => read(handle(), poolMessages.queries.pool)),
    );
    expect(views.every(({ name }) => name === 'ci')).toBe(true);
    expect(await lengthOf()).toBe(before);
  });

  it('refuses a query that the workflow does not have, and arguments that it does not take', async () => {
    await expect(read(handle(), defineQuery('absent'))).rejects.toMatchObject({
      cause: { message: 'this workflow has no such message' },
    });
    const wrong = [{ after: 1 }] as unknown as [string];
    await expect(read(handle(), poolMessages.queries.nodes, ...wrong)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('text') as string },
    });
  });

  it('gives the last state of a workflow that has ended, and an error for one that never was', async () => {
    await pool().deletePool();
    await handle().result();
    expect(await read(handle(), poolMessages.queries.pool)).toMatchObject({ name: 'ci' });
    const absent = stack.client.temporal.workflow.getHandle('pool/absent');
    await expect(read(absent, poolMessages.queries.pool)).rejects.toThrow(/not found/);
  });
});
