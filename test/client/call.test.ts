import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { call, setPatience } from '../../src/client/call.js';
import { workflowQueue } from '../../src/model/names.js';

interface Shown {
  /** Whether the worker takes tasks while the call waits. */
  readonly polls: boolean;
  /** Whether it shows that it lives. */
  readonly isAlive?: boolean;
  /** Of the workflow task that is to answer. */
  readonly attempt?: number;
}

/** A server that shows one worker, and a client that waits 600 ms for a sign of life. */
function clientOf({ polls, isAlive = false, attempt = 1 }: Shown): Client {
  let seconds = Math.round(Date.now() / 1_000) - 60;
  const lastPoll = seconds;
  const workflowService = {
    describeTaskQueue: async ({ taskQueue }: { readonly taskQueue: { readonly name: string } }) => {
      const advances = taskQueue.name === workflowQueue ? polls : isAlive;
      return {
        pollers: [
          { identity: '1@elsewhere', lastAccessTime: { seconds: advances ? (seconds += 1) : lastPoll } },
        ],
      };
    },
    describeWorkflowExecution: async () => ({ pendingWorkflowTask: { attempt } }),
  };
  const client = {
    options: { namespace: 'default' },
    connection: { workflowService },
    withDeadline: (_deadline: number, make: () => unknown) => make(),
    withAbortSignal: (_signal: AbortSignal, make: () => unknown) => make(),
    workflowService,
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

it('a call waits for a worker that is too busy to poll as long as it shows that it lives', async () => {
  expect(await call(clientOf({ polls: false, isAlive: true }), 'apply', late, options)).toBe('answered');
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
