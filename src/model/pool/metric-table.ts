/** A metric that workers publish. Labels and units follow the conventions of Prometheus. */
export interface Metric {
  readonly kind: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  /** Written at the end of the name. */
  readonly unit?: 'seconds';
}

/** The metrics of pools, by their names without the endings that counters and units add. */
export const poolMetrics = {
  heddle_pool_nodes: { kind: 'gauge', help: 'Nodes by label, provider pool and state.' },
  heddle_pool_requests: { kind: 'gauge', help: 'Open requests by state.' },
  heddle_pool_waiting: { kind: 'gauge', help: 'Waiting requests for the label.' },
  heddle_pool_tenant_waiting: {
    kind: 'gauge',
    help: 'Waiting requests of the tenant; those of tenants that the pool does not name are under an empty one.',
  },
  heddle_pool_tenant_nodes: {
    kind: 'gauge',
    help: 'Nodes that requests of the tenant have, or that are being created for them.',
  },
  heddle_pool_used: { kind: 'gauge', help: 'Use of the limits of the provider pool.' },
  heddle_pool_limit: { kind: 'gauge', help: 'Limits of the provider pool.' },
  heddle_pool_paused: { kind: 'gauge', help: 'Whether a label is paused after a quota error: 1 or 0.' },
  heddle_pool_published_timestamp_seconds: {
    kind: 'gauge',
    help: 'When the metrics of the pool were published last.',
  },
  heddle_pool_launches: {
    kind: 'counter',
    help: 'Launched machines by result: ready, or the kind of failure.',
  },
  heddle_pool_launch_duration: {
    kind: 'histogram',
    unit: 'seconds',
    help: 'From the decision to create a node to its readiness.',
  },
  heddle_pool_request_duration: {
    kind: 'histogram',
    unit: 'seconds',
    help: 'From the request to its nodes.',
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type PoolMetric = keyof typeof poolMetrics;

/** A value of a metric, or an addition to it. */
export interface MetricPoint<Name extends string = string> {
  readonly name: Name;
  readonly tags: Readonly<Record<string, string>>;
  readonly value: number;
}
