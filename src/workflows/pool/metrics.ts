import { workflowInfo } from '@temporalio/workflow';
import { figuresOf, type Figure } from '../../model/pool/metrics.js';
import type { NodeRequest } from '../../model/pool/request.js';
import type { PoolNode } from '../../model/pool/node.js';
import type { PoolState } from '../../model/pool/state.js';
import { publishPoints } from '../metrics.js';

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
  const before = published.figures;
  const figures = Object.fromEntries(
    figuresOf(pool).map((figure) => [JSON.stringify([figure.name, figure.tags]), figure]),
  );
  published.figures = figures;
  publishPoints([
    {
      name: 'heddle_pool_published_timestamp_seconds',
      tags: { pool: pool.name },
      value: Math.round(now / 1_000),
    },
    ...Object.entries(figures).flatMap(([key, figure]) =>
      before[key]?.value === figure.value ? [] : [figure],
    ),
    ...Object.entries(before).flatMap(([key, figure]) =>
      figures[key] === undefined ? [{ ...figure, value: 0 }] : [],
    ),
    ...fulfilled.map((request) => ({
      name: 'heddle_pool_request_duration' as const,
      tags: requestTags(pool, request),
      value: secondsBetween(request.createdAt, request.since),
    })),
  ]);
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
  publishPoints([
    { name: 'heddle_pool_launches', tags: { ...tags, result }, value: 1 },
    ...(result === 'ready'
      ? [{ name: 'heddle_pool_launch_duration' as const, tags, value: secondsBetween(createdAt, now) }]
      : []),
  ]);
}

function secondsBetween(from: number, to: number): number {
  return Math.max(0, to - from) / 1_000;
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
