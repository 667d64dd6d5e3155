import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { clusterWorkflowId, siteOf } from '../model/names.js';
import { call } from './call.js';
import { identitiesOn } from './workers.js';

/** Before queues are checked for workers: probes of machines take about as long. */
const firstCheckMs = 2_000;
/** Between two checks. */
const everyMs = 5_000;

export interface ProbeWait {
  readonly name: string;
  /** Ids of the workflows of its groups. */
  readonly groups: readonly string[];
  readonly patienceMs: number;
  readonly isDone: () => Promise<boolean>;
}

/**
 * Waits until the machines of a cluster are probed. @returns the reasons why some are not; empty if all are.
 * Does not wait for a site without a worker.
 */
export async function waitForProbes(
  temporal: Client,
  { name, groups, patienceMs, isDone }: ProbeWait,
): Promise<readonly string[]> {
  const ids = [clusterWorkflowId(name), ...groups];
  const end = Date.now() + patienceMs;
  for (let checkAt = Date.now() + firstCheckMs; !(await isDone()); await pause(100)) {
    if (Date.now() > end)
      return [
        `machines of ${name} were not all probed within ${Math.round(patienceMs / 1_000)} s, so some are shown as last seen`,
      ];
    if (Date.now() < checkAt) continue;
    const unserved = await unservedQueues(temporal, name, ids);
    if (unserved.length > 0)
      return unserved.map(
        (queue) =>
          `no worker of site ${siteOf(queue)} polls queue ${queue}, so its machines were not probed and are shown as last seen`,
      );
    checkAt = Date.now() + everyMs;
  }
  return [];
}

/** The queues of waiting activities that no worker polls. */
async function unservedQueues(
  temporal: Client,
  name: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const { namespace } = temporal.options;
  const described = await Promise.all(
    ids.map((workflowId) =>
      call(temporal, `probe ${name}`, () =>
        temporal.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
      ),
    ),
  );
  const queues = described
    .flatMap(({ pendingActivities }) => pendingActivities ?? [])
    .flatMap(({ activityOptions }) => activityOptions?.taskQueue?.name ?? []);
  const server = { connection: temporal.connection, namespace };
  const unserved: string[] = [];
  for (const queue of new Set(queues))
    if ((await call(temporal, `queue ${queue}`, () => identitiesOn(server, queue))).length === 0)
      unserved.push(queue);
  return unserved.toSorted();
}
