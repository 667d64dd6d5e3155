import { setTimeout as pause } from 'node:timers/promises';
import { Connection, type Client } from '@temporalio/client';
import { coreQueue } from '../../model/names.js';
import { readIdentity } from '../../model/worker-identity.js';
import { protoMs } from '../format.js';
import type { ServerLocation } from '../../server/check.js';

/** The workers that poll a queue. */
export interface QueueView {
  readonly queue: string;
  /** Workers that asked lately. */
  readonly workers: number;
  /** Who asked last; RFC 3339. */
  readonly last?: { readonly worker: string; readonly at: string };
}

/** A worker asks again at least once a minute. */
const staleMs = 120_000;

// temporal.api.enums.v1.TaskQueueType
export const [workflowTasks, activityTasks] = [1, 2] as const;

/** Workflow tasks on the core queue, activities on all others. */
export async function lookAtQueue(
  { workflowService }: Pick<Client, 'workflowService'>,
  namespace: string,
  queue: string,
): Promise<QueueView> {
  const taskQueueType = queue === coreQueue ? workflowTasks : activityTasks;
  const { pollers } = await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType,
  });
  const seen = (pollers ?? []).map(({ identity, lastAccessTime }) => ({
    worker: readIdentity(identity ?? '').worker,
    at: protoMs(lastAccessTime),
  }));
  const last = seen.toSorted((a, b) => b.at - a.at)[0];
  return {
    queue,
    workers: new Set(seen.filter(({ at }) => Date.now() - at <= staleMs).map(({ worker }) => worker)).size,
    last: last === undefined ? undefined : { worker: last.worker, at: new Date(last.at).toISOString() },
  };
}

export interface PollerRequest {
  readonly location: ServerLocation;
  readonly namespace: string;
  readonly queue: string;
  readonly taskQueueType: typeof workflowTasks | typeof activityTasks;
  readonly pid: number;
  /** Ms. */
  readonly limitMs: number;
  readonly isRunning: () => boolean | Promise<boolean>;
}

/** Waits until the process polls a queue; false when it ends before that, or does not in time. */
export async function waitForPoller(request: PollerRequest): Promise<boolean> {
  const { location, namespace, queue, taskQueueType, pid, limitMs, isRunning } = request;
  const connection = Connection.lazy(location);
  const poll = (): ReturnType<typeof connection.workflowService.describeTaskQueue> =>
    connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name: queue }, taskQueueType });
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
