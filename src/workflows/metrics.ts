import { proxySinks, workflowInfo, type Sinks } from '@temporalio/workflow';
import type { OperationMetric } from '../model/cluster/metric-table.js';
import type { FailureRecord } from '../model/node/failure.js';
import type { Operation } from '../model/cluster/operation.js';
import type { MetricPoint } from '../model/metric.js';
import type { PoolMetric } from '../model/pool/metric-table.js';

/** A metric that a workflow publishes. */
export type WorkflowMetric = PoolMetric | OperationMetric;

/**
 * Takes the metrics of workflows in the worker's process. The SDK's own metrics of workflows have labels
 * in camel case, which cannot be changed. A sink is no command: it leaves no trace in the history.
 */
export interface MetricSinks extends Sinks {
  heddleMetrics: { publish(points: readonly MetricPoint<WorkflowMetric>[]): void };
}

const { heddleMetrics } = proxySinks<MetricSinks>();

/** Publishes what has just happened; what is replayed was published when it happened. */
export function publishPoints(points: readonly MetricPoint<WorkflowMetric>[]): void {
  if (!workflowInfo().unsafe.isReplaying) heddleMetrics.publish(points);
}

/** Counts an operation that ended, or is held. */
export function countOperation({ kind, state, startedAt, endedAt }: Operation): void {
  const operation = kind;
  publishPoints([
    { name: 'heddle_operations', tags: { operation, result: state }, value: 1 },
    ...(state !== 'done' || startedAt === undefined || endedAt === undefined
      ? []
      : [
          {
            name: 'heddle_operation_duration' as const,
            tags: { operation },
            value: Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) / 1_000,
          },
        ]),
  ]);
}

/** Counts a task that failed after all its attempts. */
export function countFailure({ action, kind }: Pick<FailureRecord, 'action' | 'kind'>): void {
  publishPoints([{ name: 'heddle_task_failures', tags: { action, kind }, value: 1 }]);
}
