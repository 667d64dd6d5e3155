import type { ClusterSpec, WrittenCluster } from '../../schema/cluster/spec.js';

export type { ClusterSpec, WrittenCluster };

/** Reactions of an apply to drift of machines. */
export type RepairSpec = ClusterSpec['repair'];
/** Nodes that are alike. */
export type GroupSpec = ClusterSpec['nodes'][string];
export type ServiceSpec = ClusterSpec['services'][string];
export type ServiceActionSpec = NonNullable<ServiceSpec['actions']['install']>;
