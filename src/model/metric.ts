/** A metric that workers publish. Labels and units follow the conventions of Prometheus. */
export interface Metric {
  readonly kind: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  /** Names of the tags of its values. */
  readonly labels: readonly string[];
  /** Written at the end of the name. */
  readonly unit?: 'seconds';
}

/** A value of a metric, or an addition to it. */
export interface MetricPoint<Name extends string = string> {
  readonly name: Name;
  readonly tags: Readonly<Record<string, string>>;
  readonly value: number;
}
