import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { call, setPatience } from '../../src/client/call.js';

interface Shown {
  /** Whether the worker takes tasks while the call waits. */
  readonly polls: boolean;
  /** Of the workflow task that is to answer. */
  readonly attempt?: number;
}

/** A server that shows one worker, and a client that waits 600 ms for a sign of life. */
function clientOf({ polls, attempt = 1 }: Shown): Client {
  let seconds = 1_000;
  const client = {
    options: { namespace: 'default' },
    connection: {},
    withDeadline: (_deadline: number, make: () => unknown) => make(),
    withAbortSignal: (_signal: AbortSignal, make: () => unknown) => make(),
    workflowService: {
      describeTaskQueue: async () => ({
        pollers: [{ lastAccessTime: { seconds: polls ? (seconds += 1) : seconds } }],
      }),
      describeWorkflowExecution: async () => ({ pendingWorkflowTask: { attempt } }),
    },
  } as unknown as Client;
  setPatience(client, 600);
  return client;
}

const late = async (): Promise<string> => {
  await pause(3_000);
  return 'answered';
};
const options = { waitMs: 100, workflowId: 'cluster/web' };

it('a call waits for a busy worker as long as it polls', async () => {
  expect(await call(clientOf({ polls: true }), 'apply', late, options)).toBe('answered');
});

it.each([
  { what: 'polls no more', polls: false },
  { what: "fails in the workflow's task again and again", polls: true, attempt: 9 },
])('a call ends with NoWorker if its worker $what', async (shown) => {
  await expect(call(clientOf(shown), 'apply', late, options)).rejects.toMatchObject({
    code: 'NoWorker',
    isBusy: true,
  });
});
