import { Runtime, type PrometheusMetricsExporter, type RuntimeOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { unreadHistory } from '../model/unread-history.js';

/**
 * Sends the SDK's log to ours and serves metrics at `metricsAddress`. An occupied port only causes a warning.
 */
export function installRuntime(log: Logger, metricsAddress: string | undefined): void {
  try {
    Runtime.install(optionsOf(log, metricsAddress));
  } catch (error) {
    if (metricsAddress === undefined || !(error instanceof Error)) throw error;
    log.warn({ metricsAddress }, `metrics cannot be served there, so the worker has none: ${error.message}`);
    Runtime.install(optionsOf(log, undefined));
  }
}

function optionsOf(log: Logger, metricsAddress: string | undefined): RuntimeOptions {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, meta?: object): void => {
      if (!isExpected(message, meta)) log[level]({ ...meta }, message);
    };
  return {
    logger: {
      // The SDK's debug level logs every workflow task.
      trace: () => undefined,
      debug: () => undefined,
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      log: (level, message, meta) => {
        const levels = { INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
        if (level !== 'TRACE' && level !== 'DEBUG') write(levels[level])(message, meta);
      },
    },
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      metrics: metricsAddress === undefined ? undefined : { prometheus: exporterAt(metricsAddress) },
    },
    shutdownSignals: [],
  };
}

/** Names by the conventions of Prometheus, and histograms that reach as far as what they measure. */
function exporterAt(bindAddress: string): PrometheusMetricsExporter['prometheus'] {
  return {
    bindAddress,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
    // A key counts for every metric whose name contains it, in no defined order, so none may contain another.
    histogramBucketOverrides: {
      heddle_pool_launch_duration: machineSeconds,
      heddle_pool_request_duration: machineSeconds,
      heddle_operation_duration: taskSeconds,
      heddle_provider_call_duration: callSeconds,
      activity_execution_latency: taskSeconds,
      activity_succeed_endtoend_latency: taskSeconds,
      long_request_latency: [0.1, 1, 5, 10, 20, 40, 60, 90],
      // The longest workflow task takes a minute (`src/worker/queues.ts`).
      workflow_task_execution_latency: workflowTaskSeconds,
      workflow_task_replay_latency: workflowTaskSeconds,
    },
  };
}

/** Containers take a second, machines of clouds minutes, bare metal half an hour. */
const machineSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 180, 300, 600, 900, 1_800, 3_600, 7_200];
/** Scripts, loads of disks and builds of images may take hours. */
const taskSeconds = [
  0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800,
];
/** A call has five minutes for a machine that is requested, and a day for an image. */
const callSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 1_200, 3_600, 14_400];
const workflowTaskSeconds = [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60];

/** Most queues are for one kind of tasks alone; the SDK warns of each. */
const oneKind = /^No (workflows|activities|Nexus services) registered, not polling/;

/** Whether an entry of the SDK's log is about what Heddle does on purpose. */
function isExpected(message: string, { error }: { readonly error?: unknown } = {}): boolean {
  // The client repeats a query that `src/workflows/no-early-query.ts` refused.
  return oneKind.test(message) || (error instanceof Error && error.message === unreadHistory.message);
}
