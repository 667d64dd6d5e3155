import { setTimeout as pause } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { type QueueTasks, workersOf } from '../../client/workers.js';
import { readIdentity } from '../../model/worker-identity.js';
import type { QueueView } from '../../schema/output/status.js';
import type { ServerLocation } from '../../server/check.js';
import { openConnection } from '../../server/connect.js';

/** The workers that poll a queue. */
export async function readQueue(
  connection: ConnectionLike,
  namespace: string,
  queue: string,
  tasks: QueueTasks,
): Promise<QueueView> {
  const seen = await workersOf({ connection, namespace }, queue, tasks);
  const [last] = seen;
  const nameOf = (identity: string): string => readIdentity(identity).worker;
  return {
    queue,
    tasks,
    workers: new Set(seen.filter(({ isAlive }) => isAlive).map(({ identity }) => nameOf(identity))).size,
    last:
      last === undefined ? undefined : { worker: nameOf(last.identity), at: new Date(last.at).toISOString() },
  };
}

export interface PollerRequest {
  readonly location: ServerLocation;
  readonly namespace: string;
  readonly queue: string;
  readonly tasks: QueueTasks;
  readonly pid: number;
  /** Ms. */
  readonly limitMs: number;
  readonly isRunning: () => boolean | Promise<boolean>;
}

/** Waits until the process polls a queue; false when it ends before that, or does not in time. */
export async function waitForPoller(request: PollerRequest): Promise<boolean> {
  const { location, namespace, queue, tasks, pid, limitMs, isRunning } = request;
  const connection = openConnection(location);
  try {
    for (const limit = Date.now() + limitMs; Date.now() < limit && (await isRunning()); await pause(100)) {
      const seen = await connection.withDeadline(Date.now() + 5_000, () =>
        workersOf({ connection, namespace }, queue, tasks),
      );
      if (seen.some(({ identity }) => identity.startsWith(`${pid}@`))) return true;
    }
    return false;
  } finally {
    await connection.close();
  }
}
