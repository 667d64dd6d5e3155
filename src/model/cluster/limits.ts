/**
 * An unregistered search attribute fails the workflow task, so the server's features decide which are used.
 */
export interface ServerFeatures {
  readonly searchAttributes: boolean;
}

/**
 * How much one workflow carries; from the configuration of the worker that planned, so that tests can shrink
 * it.
 */
export interface Limits {
  /** Nodes that the cluster workflow carries itself. */
  readonly inlineNodes: number;
  /** Nodes that a group's workflow carries. */
  readonly groupNodes: number;
  /** Tasks in flight of one workflow at once. */
  readonly inFlight: number;
}

export const defaultLimits: Limits = { inlineNodes: 50, groupNodes: 100, inFlight: 100 };
