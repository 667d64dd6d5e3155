import type { NodeState } from './state.js';

/**
 * A node of a cluster that another workflow works on. Meanwhile the cluster begins nothing but its own
 * deletion.
 */
export interface NodeLease {
  readonly nodeId: string;
  /** Identifies the lease; never used again. */
  readonly leaseId: string;
  /** The workflow that leases it: `image/web`. */
  readonly to: string;
  /** RFC 3339. */
  readonly since: string;
  /** What is on its disk will be another thing. */
  readonly rewrites?: true;
}

/** Input of CHECK_LEASE. */
export interface CheckLeaseRequest extends NodeLease {
  /** Name of the cluster. */
  readonly owner: string;
}

export interface CheckLeaseReply {
  readonly has: boolean;
  /** Where it has not: the node. */
  readonly node?: NodeReply & { readonly is: 'here' };
}

/** Answer of a workflow about one of its nodes. */
export type NodeReply =
  /** `busy`: why no other workflow may work on it now. */
  | { readonly is: 'here'; readonly uid: string; readonly node: NodeState; readonly busy?: string }
  | { readonly is: 'elsewhere'; readonly workflowId: string }
  | { readonly is: 'unknown'; readonly why: string };

/** Why a node cannot be leased; undefined if it can. */
export function unfitText({
  nodeId,
  facts,
  failure,
  leaving,
  excluded,
  placement,
}: NodeState): string | undefined {
  if (leaving === true) return `node ${nodeId} is being removed`;
  if (failure !== undefined || excluded !== undefined)
    return `node ${nodeId} has failed${failure === undefined ? '' : `: ${failure.message}`}`;
  return facts.CONFIRM === true && placement !== undefined
    ? undefined
    : `node ${nodeId} has no ready machine`;
}
