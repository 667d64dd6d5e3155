import { ApplicationFailure } from '@temporalio/common';
import { workflowOfNode, type BorrowNodeRequest, type FoundNode } from '../../model/image/node.js';
import type { NodeRef } from '../../model/image/spec.js';
import type {
  GiveBackRequest,
  LendRequest,
  CheckBorrowerReply,
  CheckBorrowerRequest,
  NodeReply,
} from '../../model/node/lease.js';
import { clusterWorkflowId } from '../../model/names.js';

/**
 * What workflows that carry nodes are asked, for images that are made of one. `gone`: the server has no such
 * workflow any more.
 */
export interface NodeLoans {
  find(workflowId: string, nodeId: string): Promise<NodeReply | 'gone'>;
  /** Why it was not lent; undefined when it was. */
  lend(workflowId: string, request: LendRequest): Promise<string | undefined>;
  giveBack(workflowId: string, request: GiveBackRequest): Promise<void>;
  /** Whether a workflow works on what was lent to it. */
  has(workflowId: string, loan: string): Promise<boolean>;
}

/** A node that is there, whatever it is doing. @throws ApplicationFailure Invalid where it is not. */
export async function findNode(
  loans: NodeLoans,
  ref: NodeRef,
): Promise<FoundNode & { readonly busy?: string }> {
  const reply = await lookUp(loans, workflowOfNode(ref), ref.node);
  if (reply === 'gone') throw invalid(`there is no ${ref.of} ${ref.name}`);
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

/** The activity BORROW_NODE. Refused while the node is busy or gone. */
export async function borrowNode(
  loans: NodeLoans,
  { node: ref, loan, to, rewrites }: BorrowNodeRequest,
): Promise<FoundNode> {
  const owner = workflowOfNode(ref);
  // Nodes of pools are held by people meanwhile.
  const refusal =
    ref.of === 'pool' ? undefined : await loans.lend(owner, { nodeId: ref.node, loan, to, rewrites });
  if (refusal !== undefined) throw invalid(refusal);
  const { busy, ...found } = await findNode(loans, ref);
  if (busy === undefined) return found;
  if (ref.of === 'cluster') await loans.giveBack(owner, { loan, repair: false });
  throw invalid(`${ref.of} ${ref.name}: ${busy}`);
}

/** The activity CHECK_BORROWER: whether the borrower of a node still works on it. */
export async function checkBorrowerLease(
  loans: NodeLoans,
  { to, loan, owner, nodeId }: CheckBorrowerRequest,
): Promise<CheckBorrowerReply> {
  if (await loans.has(to, loan)) return { has: true };
  const node = await lookUp(loans, clusterWorkflowId(owner), nodeId);
  return { has: false, ...(node !== 'gone' && node.is === 'here' ? { node } : {}) };
}

/** A cluster knows its groups, and a group knows no others. */
async function lookUp(
  loans: NodeLoans,
  workflowId: string,
  nodeId: string,
): Promise<Exclude<NodeReply, { readonly is: 'elsewhere' }> | 'gone'> {
  const reply = await loans.find(workflowId, nodeId);
  if (reply === 'gone' || reply.is !== 'elsewhere') return reply;
  const there = await loans.find(reply.workflowId, nodeId);
  return there === 'gone' || there.is === 'elsewhere'
    ? { is: 'unknown', why: `node ${nodeId} is nowhere` }
    : there;
}

function invalid(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, 'Invalid');
}
