import { Runtime, type InjectedSinks } from '@temporalio/worker';
import { poolMetrics, type Metric, type MetricPoint, type PoolMetric } from '../model/pool/metric-table.js';
import type { MetricSinks } from '../workflows/pool/metrics.js';

/** Publishes the metrics of workflows at the worker's endpoint. */
export const metricSinks: InjectedSinks<MetricSinks> = {
  heddleMetrics: {
    publish: {
      fn: (_info, points) => {
        for (const point of points) recorderOf(point.name)(point);
      },
      callDuringReplay: false,
    },
  },
};

type Recorder = (point: MetricPoint) => void;

/** Created once: each instrument is a call of native code. */
const recorders = new Map<PoolMetric, Recorder>();

function recorderOf(name: PoolMetric): Recorder {
  const recorder = recorders.get(name) ?? createRecorder(name, poolMetrics[name]);
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
