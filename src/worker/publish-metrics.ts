import { Runtime, type InjectedSinks } from '@temporalio/worker';
import type { Metric } from '../model/metric.js';
import type { MetricSinks } from '../workflows/metrics.js';
import { metrics, type MetricName, type Point } from './metric-table.js';

/** Publishes the metrics of workflows at the worker's endpoint. */
export const metricSinks: InjectedSinks<MetricSinks> = {
  heddleMetrics: { publish: { fn: (_info, points) => publish(points), callDuringReplay: false } },
};

/**
 * Publishes values at the endpoint of this process, if it has one. What cannot be published fails no task.
 */
export function publish(points: readonly Point[]): void {
  for (const point of points) {
    try {
      recorderOf(point.name)(point);
    } catch (error) {
      logOnce(point.name, error);
    }
  }
}

const unpublished = new Set<MetricName>();

function logOnce(name: MetricName, error: unknown): void {
  if (unpublished.has(name)) return;
  unpublished.add(name);
  Runtime.instance().logger.warn(`the metric ${name} cannot be published`, { error });
}

type Recorder = (point: Point) => void;

/** Created once: each instrument is a call of native code. */
const recorders = new Map<MetricName, Recorder>();

function recorderOf(name: MetricName): Recorder {
  const recorder = recorders.get(name) ?? createRecorder(name, metrics[name]);
  recorders.set(name, recorder);
  return recorder;
}

function createRecorder(name: string, { kind, unit, help }: Metric): Recorder {
  const { metricMeter } = Runtime.instance();
  if (kind === 'counter') {
    const counter = metricMeter.createCounter(name, unit, help);
    return ({ value, tags }) => counter.add(value, tags);
  }
  if (kind === 'histogram') {
    const histogram = metricMeter.createHistogram(name, 'float', unit, help);
    return ({ value, tags }) => histogram.record(value, tags);
  }
  const gauge = metricMeter.createGauge(name, 'float', unit, help);
  return ({ value, tags }) => gauge.set(value, tags);
}
