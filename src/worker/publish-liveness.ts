import { setTimeout as pause } from 'node:timers/promises';
import type { ConnectionOptions } from '@temporalio/client';
import { aliveQueue } from '../model/names.js';
import { readIdentity } from '../model/worker-identity.js';
import { openConnection } from '../server/connect.js';

/** Deadline of one poll, after which the next begins, in ms. */
const pollMs = 8_000;
/** Pause after a poll that failed, in ms. */
const againMs = 1_000;

/**
 * Polls the worker's own queue until stopped, so that clients see within `aliveMs` (`src/client/workers.ts`)
 * that it ended: a poll for tasks waits for a minute, and the server shows its worker for five. Nothing is
 * ever scheduled there. Each poll carries the present identity; those for tasks keep the one of the start.
 * @returns a function that ends it.
 */
export function publishLiveness(
  location: ConnectionOptions,
  namespace: string,
  identityNow: () => string,
): () => Promise<void> {
  const connection = openConnection(location);
  const taskQueue = { name: aliveQueue(readIdentity(identityNow()).worker) };
  let isEnded = false;
  let end = new AbortController();
  const poll = (): Promise<boolean> => {
    // The SDK never removes its listeners, so each poll has a signal of its own.
    end = new AbortController();
    return connection
      .withAbortSignal(end.signal, () =>
        connection.withDeadline(Date.now() + pollMs, () =>
          connection.workflowService.pollActivityTaskQueue({ namespace, taskQueue, identity: identityNow() }),
        ),
      )
      .then(
        () => true,
        () => false,
      );
  };
  const publish = async (): Promise<void> => {
    while (!isEnded)
      if (!(await poll())) await pause(againMs, undefined, { signal: end.signal }).catch(() => undefined);
  };
  const published = publish();
  return async () => {
    isEnded = true;
    end.abort();
    await published;
    await connection.close();
  };
}
