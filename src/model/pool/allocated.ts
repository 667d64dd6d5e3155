import type { NodeRequest } from './request.js';
import type { PoolState } from './state.js';

/** A node that a cluster was allocated or has requested: a machine of the provider `pool`. */
export interface AllocatedNode {
  /** The key of the cluster's machine, which is the request's id. */
  readonly key: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly state: 'starting' | 'running';
  readonly address?: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
}

export interface AllocatedPage {
  readonly nodes: readonly AllocatedNode[];
  /** Present when there are more. */
  readonly next?: string;
}

const pageSize = 500;

/**
 * A page of them, in the order in which they were asked for. A request that failed has no machine, and
 * neither has one whose node was deleted.
 */
export function viewAllocated(pool: PoolState, after: string): AllocatedPage {
  const later = Object.values(pool.requests).filter(
    ({ tags, seq }) => tags !== undefined && seq > Number(after),
  );
  const page = later.toSorted((one, other) => one.seq - other.seq).slice(0, pageSize);
  const last = page.at(-1);
  return {
    nodes: page.flatMap((request) => allocatedNodeOf(pool, request) ?? []),
    ...(last === undefined || page.length === later.length ? {} : { next: String(last.seq) }),
  };
}

function allocatedNodeOf(pool: PoolState, request: NodeRequest): AllocatedNode | undefined {
  const {
    id,
    state,
    tags = {},
    createdAt,
    nodes: [node = ''],
  } = request;
  const shown = { key: id, tags, createdAt };
  if (state === 'requested' || state === 'pending') return { ...shown, state: 'starting' };
  if (state === 'failed' || isLost(pool, request, node)) return undefined;
  const { backing } = pool.nodes[node] ?? {};
  const address = pool.nodes[backing ?? node]?.machine.payload['ipaddress'];
  return { ...shown, state: 'running', ...(typeof address === 'string' ? { address } : {}) };
}

/** Whether a node was allocated, and deleted on request since. */
export function isLost({ nodes }: PoolState, { id }: Pick<NodeRequest, 'id'>, node: string): boolean {
  return nodes[node]?.request !== id;
}
