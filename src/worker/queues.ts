import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';
import type { Config } from '../config/index.js';
import { buildQueue, coreQueue, providerQueue, siteQueue, uploadQueue } from '../model/names.js';

/** The type of the SDK leaves out `isolateExecutionTimeout`, which it documents for tests. */
type QueueOptions = Partial<WorkerOptions> & {
  readonly taskQueue: string;
  readonly isolateExecutionTimeout?: string;
};

const bundlePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

/** The queue of workflows, and of activities that call neither clouds nor nodes. */
export function coreWorker({ stackTraces }: Config): QueueOptions {
  return {
    taskQueue: coreQueue,
    // The build marks the line that switches stack traces off.
    workflowBundle: stackTraces
      ? { code: readFileSync(bundlePath, 'utf8').replace(/^.*\/\/ no promise traces$/m, '') }
      : { codePath: bundlePath },
    maxCachedWorkflows: 500,
    maxConcurrentWorkflowTaskExecutions: 40,
    // After a crash the next worker waits no longer than this for the one that had the workflow in its
    // memory.
    stickyQueueScheduleToStartTimeout: '1 second',
    // The SDK cuts a workflow task off after 5 s, and Node then aborts the process: cut in the middle of a
    // promise, its records of asynchronous calls do not add up. A machine that stood still that long would lose
    // its worker, and a great pool each one that tries.
    isolateExecutionTimeout: '1 minute',
  };
}

/** The queue of the site, and one for each account there, whose limits the server keeps. */
export function taskWorkers(config: Config, providers: Config['providers']): readonly QueueOptions[] {
  const accounts = Object.entries(providers).filter(([, account]) => account.site === config.site);
  return [
    { taskQueue: siteQueue(config.site), maxConcurrentActivityTaskExecutions: 300 },
    ...accounts.map(([name, { limits }]) => ({
      taskQueue: providerQueue(config.site, name),
      maxConcurrentActivityTaskExecutions: limits?.concurrency ?? 50,
      maxTaskQueueActivitiesPerSecond: limits?.ratePerSecond,
    })),
  ];
}

/** Its workflows say when there is room for a build; each of them has one task at a time here. */
export function builderWorkers({ site, builder: { builds, uploads } }: Config): readonly QueueOptions[] {
  return [
    { taskQueue: buildQueue(site), maxConcurrentActivityTaskExecutions: builds + 1 },
    { taskQueue: uploadQueue(site), maxConcurrentActivityTaskExecutions: uploads },
  ];
}
