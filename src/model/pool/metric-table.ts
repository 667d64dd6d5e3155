import type { Metric } from '../metric.js';

/** The metrics of pools, by their names without the endings that counters and units add. */
export const poolMetrics = {
  heddle_pool_nodes: {
    kind: 'gauge',
    labels: ['pool', 'label', 'provider_pool', 'provider', 'state'],
    help: 'Nodes by label, provider pool and state.',
  },
  heddle_pool_requests: { kind: 'gauge', labels: ['pool', 'state'], help: 'Open requests by state.' },
  heddle_pool_waiting: { kind: 'gauge', labels: ['pool', 'label'], help: 'Waiting requests for the label.' },
  heddle_pool_tenant_waiting: {
    kind: 'gauge',
    labels: ['pool', 'tenant'],
    help: 'Waiting requests of the tenant; those of tenants that the pool does not name are under an empty one.',
  },
  heddle_pool_tenant_nodes: {
    kind: 'gauge',
    labels: ['pool', 'tenant'],
    help: 'Nodes that requests of the tenant have, or that are being created for them.',
  },
  heddle_pool_tenant_oldest_request_timestamp_seconds: {
    kind: 'gauge',
    labels: ['pool', 'tenant'],
    help: 'When the oldest waiting request of the tenant was made; 0 if none waits.',
  },
  heddle_pool_used: {
    kind: 'gauge',
    labels: ['pool', 'provider_pool', 'provider', 'of'],
    help: 'Use of the limits of the provider pool.',
  },
  heddle_pool_limit: {
    kind: 'gauge',
    labels: ['pool', 'provider_pool', 'provider', 'of'],
    help: 'Limits of the provider pool.',
  },
  heddle_pool_paused: {
    kind: 'gauge',
    labels: ['pool', 'provider_pool', 'provider'],
    help: 'Whether a label is paused after a quota error: 1 or 0.',
  },
  heddle_pool_published_timestamp_seconds: {
    kind: 'gauge',
    labels: ['pool'],
    help: 'When the metrics of the pool were published last.',
  },
  heddle_pool_launches: {
    kind: 'counter',
    labels: ['pool', 'label', 'provider_pool', 'provider', 'result'],
    help: 'Launched machines by result: ready, or the kind of failure.',
  },
  heddle_pool_launch_duration: {
    kind: 'histogram',
    labels: ['pool', 'label', 'provider_pool', 'provider'],
    unit: 'seconds',
    help: 'From the decision to create a node to its readiness.',
  },
  heddle_pool_request_duration: {
    kind: 'histogram',
    labels: ['pool', 'label', 'provider_pool', 'provider'],
    unit: 'seconds',
    help: 'From the request to its nodes.',
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type PoolMetric = keyof typeof poolMetrics;
