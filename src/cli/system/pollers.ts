import { setTimeout as pause } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { serverTime } from '../../client/server-clock.js';
import { readIdentity } from '../../model/worker-identity.js';
import type { QueueView } from '../../schema/output/status.js';
import { protoMs } from '../../client/proto-time.js';
import type { ServerLocation } from '../../server/check.js';
import { openConnection } from '../../server/connect.js';

/** A worker asks again at least once a minute. */
const staleMs = 120_000;

/** A queue of one name holds two kinds of tasks, which different workers may poll. */
export type QueueTasks = QueueView['tasks'];

// temporal.api.enums.v1.TaskQueueType
const taskQueueTypes = { workflows: 1, activities: 2 } as const satisfies Record<QueueTasks, number>;

export async function lookAtQueue(
  connection: ConnectionLike,
  namespace: string,
  queue: string,
  tasks: QueueTasks,
): Promise<QueueView> {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType: taskQueueTypes[tasks],
  });
  const now = await serverTime(connection, namespace);
  const seen = (pollers ?? []).map(({ identity, lastAccessTime }) => ({
    worker: readIdentity(identity ?? '').worker,
    at: protoMs(lastAccessTime),
  }));
  const last = seen.toSorted((a, b) => b.at - a.at)[0];
  return {
    queue,
    tasks,
    workers: new Set(seen.filter(({ at }) => now - at <= staleMs).map(({ worker }) => worker)).size,
    last: last === undefined ? undefined : { worker: last.worker, at: new Date(last.at).toISOString() },
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
  const poll = (): ReturnType<typeof connection.workflowService.describeTaskQueue> =>
    connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: queue },
      taskQueueType: taskQueueTypes[tasks],
    });
  try {
    for (const limit = Date.now() + limitMs; Date.now() < limit && (await isRunning()); await pause(100)) {
      const { pollers } = await connection.withDeadline(Date.now() + 5_000, poll);
      if (pollers?.some(({ identity }) => identity?.startsWith(`${pid}@`))) return true;
    }
    return false;
  } finally {
    await connection.close();
  }
}
