import { operationMetrics } from '../model/cluster/metric-table.js';
import type { Metric, MetricPoint } from '../model/metric.js';
import { poolMetrics } from '../model/pool/metric-table.js';

/** What each worker counts in its own process, by names without the endings that counters and units add. */
const processMetrics = {
  heddle_build_info: {
    kind: 'gauge',
    labels: ['version', 'build', 'site'],
    help: 'Always 1; version and build of the worker, and its site.',
  },
  heddle_task_attempts: {
    kind: 'counter',
    labels: ['action', 'result'],
    help: 'Attempts of tasks that ended on this worker, by action and result: done, or the kind of failure.',
  },
  heddle_drift_observations: {
    kind: 'counter',
    labels: ['drift'],
    help: 'Machines that a probe of this worker found to differ from what is recorded, by kind of difference.',
  },
  heddle_provider_calls: {
    kind: 'counter',
    labels: ['account', 'result'],
    help: 'Calls of provider accounts by this worker, by result: done, or the kind of failure.',
  },
  heddle_provider_call_duration: {
    kind: 'histogram',
    labels: ['account'],
    unit: 'seconds',
    help: 'Duration of calls of provider accounts, without waits for rate limits.',
  },
  heddle_key_misses: {
    kind: 'counter',
    labels: [],
    help: 'Payloads that this worker could not decrypt, because it lacks their key.',
  },
  heddle_disk_free_bytes: {
    kind: 'gauge',
    labels: ['folder'],
    help: 'Space that the worker can use, by folder.',
  },
  heddle_disk_size_bytes: { kind: 'gauge', labels: ['folder'], help: 'Size of the file system, by folder.' },
} as const satisfies Readonly<Record<string, Metric>>;

/** What each worker reads from the server: the same value on all of them, so use max, not sum. */
const installationMetrics = {
  heddle_clusters: { kind: 'gauge', labels: ['phase'], help: 'Clusters by phase.' },
  heddle_clusters_held: {
    kind: 'gauge',
    labels: ['cause'],
    help: 'Clusters that wait for a decision, by cause: the kind of the failure that holds them.',
  },
  heddle_workflows_stuck: {
    kind: 'gauge',
    labels: ['cause'],
    help: 'Workflows that no worker can continue, by cause.',
  },
  heddle_sweep_last_pass_timestamp_seconds: {
    kind: 'gauge',
    labels: [],
    help: 'When the last pass of the sweep for orphaned machines ended; 0 before the first.',
  },
  heddle_sweep_interval_seconds: { kind: 'gauge', labels: [], help: 'Time between passes of the sweep.' },
  heddle_sweep_paused: {
    kind: 'gauge',
    labels: [],
    help: 'Whether the schedule of the sweep is paused: 1 or 0.',
  },
  heddle_sweep_refusals: {
    kind: 'gauge',
    labels: [],
    help: 'Reasons for which the last pass of the sweep deleted nothing.',
  },
  heddle_orphaned_machines: {
    kind: 'gauge',
    labels: ['account'],
    help: 'Machines without an owner that the last pass of the sweep found, by provider account.',
  },
  heddle_observation_timestamp_seconds: {
    kind: 'gauge',
    labels: ['of'],
    help: 'When the worker last read clusters, workflows or the sweep from the server; 0 before the first time.',
  },
} as const satisfies Readonly<Record<string, Metric>>;

/** By what they are about. */
export const metricGroups = {
  installation: installationMetrics,
  worker: { ...processMetrics, ...operationMetrics },
  pools: poolMetrics,
} as const;

/** Every metric of Heddle. */
export const metrics = {
  ...metricGroups.worker,
  ...metricGroups.installation,
  ...metricGroups.pools,
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof metrics;

/** A value that a worker publishes. */
export type Point = MetricPoint<MetricName>;

/** The name under which a worker serves a metric. */
export function servedName(name: MetricName): string {
  const { kind, unit }: Metric = metrics[name];
  return `${name}${unit === undefined ? '' : `_${unit}`}${kind === 'counter' ? '_total' : ''}`;
}
