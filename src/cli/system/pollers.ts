import type { Client } from '@temporalio/client';
import { coreQueue } from '../../model/names.js';

/** Who asks for work on a queue. */
export interface QueueView {
  readonly queue: string;
  /** Workers that asked lately. */
  readonly workers: number;
  /** Who asked last; RFC 3339. */
  readonly last?: { readonly worker: string; readonly at: string };
}

/** A worker asks again at least once a minute. */
export const staleMs = 120_000;

// temporal.api.enums.v1.TaskQueueType
const workflowTasks = 1;
const activityTasks = 2;

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
    worker: identity ?? '',
    at: Number(String(lastAccessTime?.seconds ?? 0)) * 1_000,
  }));
  const last = seen.toSorted((a, b) => b.at - a.at)[0];
  return {
    queue,
    workers: new Set(seen.filter(({ at }) => Date.now() - at <= staleMs).map(({ worker }) => worker)).size,
    last: last === undefined ? undefined : { worker: last.worker, at: new Date(last.at).toISOString() },
  };
}
