import type { Metric } from '../metric.js';

/**
 * The metrics that workflows publish of operations and tasks, by their names without the endings that
 * counters and units add.
 */
export const operationMetrics = {
  heddle_operations: {
    kind: 'counter',
    labels: ['operation', 'result'],
    help: 'Operations of clusters that ended or were held, by kind and result.',
  },
  heddle_operation_duration: {
    kind: 'histogram',
    labels: ['operation'],
    unit: 'seconds',
    help: 'From the start of an operation of a cluster to its end, by kind.',
  },
  heddle_task_failures: {
    kind: 'counter',
    labels: ['action', 'kind'],
    help: 'Tasks of nodes that failed after all their attempts, by action and kind of failure.',
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type OperationMetric = keyof typeof operationMetrics;
