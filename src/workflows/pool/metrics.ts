import { metricMeter, workflowInfo } from '@temporalio/workflow';
import { figuresOf, type Figure } from '../../model/pool/metrics.js';
import type { NodeRequest } from '../../model/pool/request.js';
import type { PoolNode } from '../../model/pool/node.js';
import type { PoolState } from '../../model/pool/state.js';

/**
 * Metrics of a pool as last published by this process. Not part of the pool's state: another worker publishes
 * all of them again.
 */
export interface Published {
  figures: Readonly<Record<string, Figure>>;
  /** The last change of the pool that was published. */
  version: number;
}

export function nothingPublished(pool: PoolState): Published {
  return { figures: {}, version: pool.counters.version };
}

/**
 * Updates the worker's metrics. Replayed changes are skipped: they were counted when they happened.
 */
export function publishMetrics(published: Published, pool: PoolState, now: number): void {
  const fulfilled = Object.values(pool.requests).filter(
    ({ version, state }) => version > published.version && state === 'fulfilled',
  );
  published.version = pool.counters.version;
  if (workflowInfo().unsafe.isReplaying) return;
  const figures = Object.fromEntries(
    figuresOf(pool).map((figure) => [JSON.stringify([figure.name, figure.tags]), figure]),
  );
  metricMeter.createGauge('heddle_pool_published').set(Math.round(now / 1_000), { pool: pool.name });
  for (const [key, { name, tags, value }] of Object.entries(figures)) {
    if (published.figures[key]?.value !== value) metricMeter.createGauge(name).set(value, tags);
  }
  for (const [key, { name, tags }] of Object.entries(published.figures)) {
    if (figures[key] === undefined) metricMeter.createGauge(name).set(0, tags);
  }
  published.figures = figures;
  if (fulfilled.length === 0) return;
  const times = metricMeter.createHistogram(
    'heddle_pool_request_time',
    'int',
    'ms',
    'From the demand to the nodes.',
  );
  for (const request of fulfilled)
    times.record(Math.max(0, request.since - request.createdAt), requestTags(pool, request));
}

/** How the making of a node ended: `ready`, or the kind of failure. */
export function publishLaunch(
  pool: PoolState,
  { label, providerPool, createdAt }: PoolNode,
  result: string,
  now: number,
): void {
  const tags = {
    pool: pool.name,
    label,
    provider_pool: providerPool,
    provider: providerOf(pool, providerPool),
  };
  metricMeter.createCounter('heddle_pool_launches').add(1, { ...tags, result });
  if (result === 'ready')
    metricMeter
      .createHistogram(
        'heddle_pool_launch_time',
        'int',
        'ms',
        'From the decision to make a node to its readiness.',
      )
      .record(Math.max(0, now - createdAt), tags);
}

function requestTags(
  pool: PoolState,
  { labels, providerPool = '' }: NodeRequest,
): Readonly<Record<string, string>> {
  const label = new Set(labels).size === 1 ? (labels[0] ?? '') : 'several';
  return { pool: pool.name, label, provider_pool: providerPool, provider: providerOf(pool, providerPool) };
}

function providerOf({ spec }: PoolState, providerPool: string): string {
  return spec?.providerPools[providerPool]?.provider ?? '';
}
