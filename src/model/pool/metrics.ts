import { addTo } from './amounts.js';
import { inOrder } from './order.js';
import { pausesIn } from './pause.js';
import type { MetricPoint } from '../metric.js';
import type { PoolMetric } from './metric-table.js';
import { requestStates } from './request.js';
import type { PoolState } from './state.js';

export type Figure = MetricPoint<PoolMetric>;

/** All metrics of a pool: nodes and requests by state, queue lengths, use and limits. Called often. */
export function figuresOf(state: PoolState): readonly Figure[] {
  const { name: pool, spec, requests } = state;
  const byState = count(Object.values(requests).map((request) => request.state));
  const waiting = count(inOrder(state).flatMap(({ labels }) => [...new Set(labels)]));
  return [
    ...figuresOfNodes(state),
    ...figuresOfProviders(state),
    ...figuresOfTenants(state),
    ...requestStates.map((of): Figure => ({
      name: 'heddle_pool_requests',
      tags: { pool, state: of },
      value: byState.get(of) ?? 0,
    })),
    ...Object.keys(spec?.labels ?? {}).map((label): Figure => ({
      name: 'heddle_pool_waiting',
      tags: { pool, label },
      value: waiting.get(label) ?? 0,
    })),
  ];
}

function count(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Does not count shared machines, which are not nodes. */
function figuresOfNodes({ name: pool, spec, nodes }: PoolState): readonly Figure[] {
  const counts = count(
    Object.values(nodes).flatMap(({ label, providerPool, state, slots }) =>
      slots === undefined ? [`${label}/${providerPool}/${state}`] : [],
    ),
  );
  return [...counts].map(([key, value]): Figure => {
    const [label = '', providerPool = '', state = ''] = key.split('/');
    return {
      name: 'heddle_pool_nodes',
      tags: {
        pool,
        label,
        provider_pool: providerPool,
        provider: spec?.providerPools[providerPool]?.provider ?? '',
        state,
      },
      value,
    };
  });
}

function figuresOfProviders(state: PoolState): readonly Figure[] {
  const { name: pool, spec, nodes } = state;
  const used: Record<string, Record<string, number>> = {};
  for (const { providerPool, uses } of Object.values(nodes)) addTo((used[providerPool] ??= {}), uses);
  return Object.entries(spec?.providerPools ?? {}).flatMap(([providerPool, { provider, limits }]) => {
    const tags = { pool, provider_pool: providerPool, provider };
    return [
      ...Object.entries(limits).map(([of, value]): Figure => ({
        name: 'heddle_pool_limit',
        tags: { ...tags, of },
        value,
      })),
      ...[...new Set(['nodes', ...Object.keys(limits)])].map((of): Figure => ({
        name: 'heddle_pool_used',
        tags: { ...tags, of },
        value: used[providerPool]?.[of] ?? 0,
      })),
      { name: 'heddle_pool_paused', tags, value: pausesIn(state, providerPool).length === 0 ? 0 : 1 },
    ];
  });
}

/** Tenants are named by requesters, so only those of the configuration have figures of their own. */
function figuresOfTenants({ name: pool, spec, nodes, requests }: PoolState): readonly Figure[] {
  const named = new Set([...Object.keys(spec?.tenants ?? {}), ...Object.keys(spec?.weights ?? {})]);
  const nameOf = ({ tenant = '' }: { readonly tenant?: string }): string => (named.has(tenant) ? tenant : '');
  const waiting = count(
    Object.values(requests).flatMap((request) => (request.state === 'requested' ? [nameOf(request)] : [])),
  );
  const owned = count(
    Object.values(nodes).flatMap((node) => (node.request === undefined ? [] : [nameOf(node)])),
  );
  const oldest = new Map<string, number>();
  for (const request of Object.values(requests))
    if (request.state === 'requested')
      oldest.set(
        nameOf(request),
        Math.min(request.createdAt, oldest.get(nameOf(request)) ?? request.createdAt),
      );
  return [...named, ''].flatMap((tenant): readonly Figure[] => [
    {
      name: 'heddle_pool_tenant_oldest_request_timestamp_seconds',
      tags: { pool, tenant },
      value: Math.round((oldest.get(tenant) ?? 0) / 1_000),
    },
    { name: 'heddle_pool_tenant_waiting', tags: { pool, tenant }, value: waiting.get(tenant) ?? 0 },
    { name: 'heddle_pool_tenant_nodes', tags: { pool, tenant }, value: owned.get(tenant) ?? 0 },
  ]);
}
