import { ApplicationFailure } from '@temporalio/common';
import { workflowOfNode, type LeaseNodeRequest, type FoundNode } from '../../model/image/node.js';
import type { NodeRef } from '../../model/image/spec.js';
import type { ReleaseRequest, LeaseRequest } from '../../model/cluster/contract.js';
import type { CheckLeaseReply, CheckLeaseRequest, NodeReply } from '../../model/node/lease.js';
import { clusterWorkflowId } from '../../model/names.js';

/** Leases of nodes from workflows, for images made of a node. `gone`: the server has no such workflow. */
export interface NodeLeases {
  find(workflowId: string, nodeId: string): Promise<NodeReply | 'gone'>;
  /** Why the node was not leased; undefined if it was. */
  lease(workflowId: string, request: LeaseRequest): Promise<string | undefined>;
  release(workflowId: string, request: ReleaseRequest): Promise<void>;
  /** Whether a workflow works on the node it leases. */
  has(workflowId: string, leaseId: string): Promise<boolean>;
}

/**
 * Finds an existing node, whatever it is doing.
 * @throws ApplicationFailure Invalid if it does not exist.
 */
export async function findNode(
  leases: NodeLeases,
  ref: NodeRef,
): Promise<FoundNode & { readonly busy?: string }> {
  const reply = await lookUp(leases, workflowOfNode(ref), ref.node);
  if (reply === 'gone') throw invalid(`${ref.of} ${ref.name} does not exist`);
  if (reply.is === 'unknown') throw invalid(reply.why);
  const {
    uid,
    busy,
    node: { nodeId, incarnation, hostname, payload, placement },
  } = reply;
  if (placement === undefined) throw invalid(`${ref.of} ${ref.name}: node ${ref.node} has no machine yet`);
  return {
    clusterId: ref.of === 'cluster' ? ref.name : workflowOfNode(ref),
    uid,
    nodeId,
    incarnation,
    hostname,
    payload,
    placement,
    busy,
  };
}

/** The activity LEASE_NODE. Refused while the node is busy or gone. */
export async function leaseNode(
  leases: NodeLeases,
  { node: ref, leaseId, to, rewrites }: LeaseNodeRequest,
): Promise<FoundNode> {
  const owner = workflowOfNode(ref);
  // Nodes of pools are held by people meanwhile.
  const refusal =
    ref.of === 'pool' ? undefined : await leases.lease(owner, { nodeId: ref.node, leaseId, to, rewrites });
  if (refusal !== undefined) throw invalid(refusal);
  const { busy, ...found } = await findNode(leases, ref);
  if (busy === undefined) return found;
  if (ref.of === 'cluster') await leases.release(owner, { leaseId, repair: false });
  throw invalid(`${ref.of} ${ref.name}: ${busy}`);
}

/** The activity CHECK_LEASE: whether the holder of a node still works on it. */
export async function checkLease(
  leases: NodeLeases,
  { to, leaseId, owner, nodeId }: CheckLeaseRequest,
): Promise<CheckLeaseReply> {
  if (await leases.has(to, leaseId)) return { has: true };
  const node = await lookUp(leases, clusterWorkflowId(owner), nodeId);
  return { has: false, ...(node !== 'gone' && node.is === 'here' ? { node } : {}) };
}

/** A cluster knows its groups, and a group knows no others. */
async function lookUp(
  leases: NodeLeases,
  workflowId: string,
  nodeId: string,
): Promise<Exclude<NodeReply, { readonly is: 'elsewhere' }> | 'gone'> {
  const reply = await leases.find(workflowId, nodeId);
  if (reply === 'gone' || reply.is !== 'elsewhere') return reply;
  const there = await leases.find(reply.workflowId, nodeId);
  return there === 'gone' || there.is === 'elsewhere'
    ? { is: 'unknown', why: `node ${nodeId} was not found` }
    : there;
}

function invalid(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, 'Invalid');
}
