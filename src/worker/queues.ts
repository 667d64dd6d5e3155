import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';
import type { Config } from '../config/index.js';
import { groupHeartbeats } from '../model/activities.js';
import {
  buildQueue,
  coreQueue,
  groupQueue,
  groupSiteQueue,
  providerQueue,
  siteQueue,
  uploadQueue,
  workflowQueue,
} from '../model/names.js';
import { metricSinks } from './publish-metrics.js';

/** The type of the SDK leaves out `isolateExecutionTimeout`, which it documents for tests. */
type QueueOptions = Partial<WorkerOptions> & {
  readonly taskQueue: string;
  readonly isolateExecutionTimeout?: string;
};

/** The code of the workflows. */
export const bundlePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

/**
 * Queues for workflows and the tasks of the site, the same for groups, one for activities that
 * any worker may take, and one for each account of the site, whose limits the server keeps.
 */
export function siteWorkers(config: Config, providers: Config['providers']): readonly QueueOptions[] {
  const { site } = config;
  const workflows = workflowWorker(config);
  const tasks = {
    maxConcurrentActivityTaskExecutions: 300,
    // Tasks of its own workflows that a worker starts at once. The server needs less than half
    // the time for such a task; those beyond wait for any worker.
    maxEagerActivityReservationsPerWorkflowTask: 100,
  };
  const accounts = Object.entries(providers).filter(([, account]) => account.site === site);
  return [
    ...together(workflows, { ...tasks, taskQueue: siteQueue(site) }),
    ...together(
      // Few at a time, so that they do not hold up those of other workflows.
      { ...workflows, taskQueue: groupQueue, maxConcurrentWorkflowTaskExecutions: 3 },
      { ...tasks, taskQueue: groupSiteQueue(site), maxHeartbeatThrottleInterval: groupHeartbeats.intervalMs },
    ),
    { taskQueue: coreQueue },
    ...accounts.map(([name, { limits }]) => ({
      taskQueue: providerQueue(site, name),
      maxConcurrentActivityTaskExecutions: limits?.concurrency ?? 50,
      maxTaskQueueActivitiesPerSecond: limits?.ratePerSecond,
    })),
  ];
}

/** One worker if both are on the same queue, which they are on the default site. */
function together(workflows: QueueOptions, tasks: QueueOptions): readonly QueueOptions[] {
  return workflows.taskQueue === tasks.taskQueue
    ? [{ ...workflows, ...tasks }]
    : [{ ...workflows, activities: {} }, tasks];
}

function workflowWorker({ stackTraces }: Config): QueueOptions {
  return {
    taskQueue: workflowQueue,
    // The build marks the line that switches stack traces off.
    workflowBundle: stackTraces
      ? { code: readFileSync(bundlePath, 'utf8').replace(/^.*\/\/ no promise traces$/m, '') }
      : { codePath: bundlePath },
    sinks: metricSinks,
    maxCachedWorkflows: 500,
    maxConcurrentWorkflowTaskExecutions: 40,
    // After a crash the next worker waits no longer than this for the one that had the workflow in its
    // memory.
    stickyQueueScheduleToStartTimeout: '1 second',
    // The SDK cuts a workflow task off after 5 s, and Node then aborts the process: cut in the
    // middle of a promise, its records of asynchronous calls do not add up. A machine that
    // stood still that long would lose its worker, and a great pool each one that tries.
    isolateExecutionTimeout: '1 minute',
  };
}

/** Its workflows say when there is room for a build; each of them has one task at a time here. */
export function builderWorkers({ site, builder: { builds, uploads } }: Config): readonly QueueOptions[] {
  return [
    { taskQueue: buildQueue(site), maxConcurrentActivityTaskExecutions: builds + 1 },
    { taskQueue: uploadQueue(site), maxConcurrentActivityTaskExecutions: uploads },
  ];
}
