import { ActivityFailure, condition, isCancellation, log } from '@temporalio/workflow';
import type { Json } from '../../model/json.js';
import { unfitText, type GiveBackRequest, type LendRequest, type NodeReply } from '../../model/node/lease.js';
import { groupWorkflowId, taskId } from '../../model/names.js';
import type { NodeFacts, NodeState } from '../../model/node/state.js';
import { mergePayload, stableJson } from '../../model/node/payload.js';
import { now, noteChange, type NextWake } from '../entity.js';
import { schedule, scheduleMachineTask } from '../schedule.js';
import { queueOperation } from './accept.js';
import { groupOfNode } from './groups.js';
import { changeNode, type Memory } from './memory.js';
import { refuseBusy, refuseDeleting, refuseUnknownNodes } from './refuse.js';

/** How often a cluster asks the borrower of its node whether it still works on it, in ms. */
const askBorrowerMs = 5 * 60_000;

/**
 * Why a node is not lent; undefined if it is. A cluster lends a node only while it is idle and up to date.
 */
export function refuseLend(memory: Memory, request: LendRequest): string | undefined {
  const { state } = memory;
  const { name, operation, spec, achieved, nodes, lent } = state;
  if (lent?.loan === request.loan) return undefined;
  if (request.rewrites === true && groupOfNode(memory, request.nodeId) !== undefined)
    return `node ${request.nodeId} is carried by a group of cluster ${name}, which cannot take one back that was rewritten; heddle replace ${name} ${request.nodeId}`;
  const refusal =
    refuseDeleting(state, 'its nodes go') ??
    refuseUnknownNodes(memory, [request.nodeId]) ??
    refuseBusy(state, false);
  if (refusal !== undefined) return refusal;
  if (operation !== undefined)
    return `cluster ${name} holds operation ${operation.id} (${operation.what}), which failed; see to that first: heddle status ${name}`;
  if (stableJson((spec ?? null) as Json) !== stableJson((achieved ?? null) as Json))
    return `cluster ${name} is not yet what its file says; apply it, or roll back, first`;
  const node = nodes[request.nodeId];
  const unfit = node === undefined ? undefined : unfitText(node);
  return unfit === undefined ? undefined : `cluster ${name}: ${unfit}`;
}

export function lend(memory: Memory, { nodeId, loan, to, rewrites }: LendRequest): void {
  if (memory.state.lent?.loan === loan) return;
  memory.state = {
    ...memory.state,
    lent: { nodeId, loan, to, since: now(), ...(rewrites === true ? { rewrites } : {}) },
  };
  noteChange(memory);
}

/**
 * What ran on a machine that was switched off, or is not on it any more, is carried out by an apply of the
 * spec as it is.
 */
export function giveBack(memory: Memory, { loan, repair, rewritten, broken }: GiveBackRequest): void {
  const { lent, ...state } = memory.state;
  if (lent?.loan !== loan) return;
  memory.state = state;
  noteChange(memory);
  if (state.spec === undefined || !(repair || rewritten !== undefined || broken === true)) return;
  if (broken !== true) {
    changeNode(memory, lent.nodeId, (node) =>
      rewritten === undefined
        ? // Not every machine tells that it came up again.
          { ...node, payload: { ...node.payload, 'boot-id': `before ${loan}` } }
        : { ...node, payload: mergePayload(node.payload, rewritten), facts: withoutServices(node.facts) },
    );
  }
  queueOperation(memory, {
    intent: broken === true ? { kind: 'replace', nodes: [lent.nodeId] } : { kind: 'apply' },
    by: `${lent.to} (it gave ${lent.nodeId} back)`,
    spec: state.spec,
    waits: true,
    // What waits for the node wants it as it was; and what is to be applied next is not to be undone by the
    // spec of now.
    first: true,
  });
}

/**
 * Asks the borrower whether it still works on the node, periodically and when an operation begins to wait for
 * the node. A borrower that no longer exists cannot return the node, so the cluster takes it back.
 */
export async function checkBorrower(memory: Memory): Promise<NextWake> {
  const { lent, queue } = memory.state;
  const now = Date.now();
  if (lent === undefined) {
    delete memory.borrowerCheckedAt;
    return {};
  }
  const waiting = queue.at(-1)?.operation.id;
  memory.borrowerCheckedAt ??= now;
  const nextAt = memory.borrowerCheckedAt + askBorrowerMs;
  if (now < nextAt && (waiting === undefined || waiting === memory.askedFor)) return { wakeAt: nextAt };
  memory.borrowerCheckedAt = now;
  if (waiting !== undefined) memory.askedFor = waiting;
  await takeBackIfAbandoned(memory, lent);
  noteChange(memory);
  return {};
}

async function takeBackIfAbandoned(
  memory: Memory,
  lent: NonNullable<Memory['state']['lent']>,
): Promise<void> {
  try {
    const { has, node } = await schedule(
      'CHECK_BORROWER',
      { ...lent, owner: memory.state.name },
      { summary: `CHECK_BORROWER ${lent.to}` },
    );
    if (has || memory.state.lent?.loan !== lent.loan) return;
    log.warn(`${lent.to} does not work on ${lent.nodeId} any more, so it is taken back`, { loan: lent.loan });
    if (lent.rewrites === true) {
      // The disk may hold part of an image.
      giveBack(memory, { loan: lent.loan, repair: false, broken: true });
      return;
    }
    // A delete of the cluster does not wait for the machine.
    if (node !== undefined)
      await Promise.race([switchOn(memory, node), condition(() => memory.state.lent?.loan !== lent.loan)]);
    giveBack(memory, { loan: lent.loan, repair: true });
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn(`whether ${lent.to} still works on ${lent.nodeId} is not known`, {
      why: error.cause?.message ?? error.message,
    });
  }
}

/** A machine that is there and answers, with nothing of ours on it. */
function withoutServices({ machine }: NodeFacts): NodeFacts {
  return { machine, CREATE: true, CONFIRM: true, services: {} };
}

export function nodeReply(memory: Memory, nodeId: string): NodeReply {
  const { name, uid, nodes } = memory.state;
  const group = groupOfNode(memory, nodeId);
  if (group !== undefined) return { is: 'elsewhere', workflowId: groupWorkflowId(name, group) };
  return nodes[nodeId] === undefined
    ? {
        is: 'unknown',
        why: `cluster ${name} has no node ${nodeId}; 'heddle nodes ${name}' shows those it has`,
      }
    : nodeIn(nodes, uid, nodeId);
}

export function nodeIn(nodes: Readonly<Record<string, NodeState>>, uid: string, nodeId: string): NodeReply {
  const node = nodes[nodeId];
  if (node === undefined) return { is: 'unknown', why: `there is no node ${nodeId} any more` };
  const busy = unfitText(node);
  return { is: 'here', uid: node.keyUid ?? uid, node, busy };
}

/**
 * It may have been switched off for a capture that no longer runs. If this fails, the next
 * look shows it.
 */
async function switchOn(
  { state: { name, lent } }: Memory,
  { uid, node }: NodeReply & { readonly is: 'here' },
): Promise<void> {
  const { nodeId, incarnation, payload, placement } = node;
  if (placement === undefined) return;
  const { provider, type, site, fields } = placement;
  const operation = `give-back-${lent?.loan.replaceAll('/', '-')}`;
  try {
    await scheduleMachineTask(
      'POWER_ON',
      {
        taskId: taskId({ clusterUid: uid, nodeId, incarnation, action: 'POWER_ON', operation }),
        clusterId: name,
        clusterUid: uid,
        nodeId,
        incarnation,
        run: 1,
        operation,
        config: payload,
        cluster: {},
        peersVersion: 0,
        peersOf: `cluster/${name}`,
        provider: { name: provider, type, fields },
        order: { at: now() },
      },
      { site, provider },
    );
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn(`${nodeId} could not be switched on`, { why: error.cause?.message ?? error.message });
  }
}
