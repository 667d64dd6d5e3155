import { ActivityFailure, isCancellation, log } from '@temporalio/workflow';
import type { Json } from '../../model/json.js';
import type { ReleaseRequest, LeaseRequest } from '../../model/cluster/contract.js';
import { unfitText, type NodeReply } from '../../model/node/lease.js';
import { refuseLocked } from '../../model/cluster/locked.js';
import { groupWorkflowId } from '../../model/names.js';
import type { NodeFacts, NodeState } from '../../model/node/state.js';
import { mergePayload, stableJson } from '../../model/node/payload.js';
import { change, now, noteChange, type NextWake } from '../entity.js';
import { machineTask } from '../task-request.js';
import { schedule, scheduleMachineTask } from '../schedule.js';
import { queueOperation } from './accept.js';
import { groupOfNode } from './groups.js';
import { changeNode, type Memory } from './memory.js';
import { recordObservation } from '../../model/node/record.js';
import { refuseBusy, refuseDeleting, refuseUnknownNodes } from './refuse.js';
import { condition } from '../inbox.js';

/** How often a cluster asks the holder of its node whether it still works on it, in ms. */
const checkLeaseMs = 5 * 60_000;

/**
 * Why a node cannot be leased; undefined if it can. A cluster leases a node out only while it is idle and up
 * to date.
 */
export function refuseLease(memory: Memory, request: LeaseRequest): string | undefined {
  const { state } = memory;
  const { name, operation, spec, achieved, nodes, lease } = state;
  if (lease?.leaseId === request.leaseId) return undefined;
  if (request.rewrites === true && groupOfNode(memory, request.nodeId) !== undefined)
    return `node ${request.nodeId} belongs to a group of cluster ${name}, which cannot take back a rewritten node; run 'heddle replace ${name} ${request.nodeId}' instead`;
  const refusal =
    (request.rewrites === true ? refuseLocked(state) : undefined) ??
    refuseDeleting(state, 'its nodes are deleted with it') ??
    refuseUnknownNodes(memory, [request.nodeId]) ??
    refuseBusy(state, false);
  if (refusal !== undefined) return refusal;
  if (operation !== undefined)
    return `cluster ${name} holds operation ${operation.id} (${operation.what}), which failed; resolve that first: heddle status ${name}`;
  if (stableJson((spec ?? null) as Json) !== stableJson((achieved ?? null) as Json))
    return `cluster ${name} does not match its file yet; apply it, or roll back, first`;
  const node = nodes[request.nodeId];
  const unfit = node === undefined ? undefined : unfitText(node);
  return unfit === undefined ? undefined : `cluster ${name}: ${unfit}`;
}

export function grantLease(memory: Memory, { nodeId, leaseId, to, rewrites }: LeaseRequest): void {
  if (memory.state.lease?.leaseId === leaseId) return;
  change(memory, {
    lease: { nodeId, leaseId, to, since: now(), ...(rewrites === true ? { rewrites } : {}) },
  });
}

/**
 * Ends the lease. An apply of the unchanged spec then restores what ran on a machine that was switched off or
 * rewritten.
 */
export function releaseLease(memory: Memory, { leaseId, repair, rewritten, broken }: ReleaseRequest): void {
  const { lease, spec } = memory.state;
  if (lease?.leaseId !== leaseId) return;
  change(memory, { lease: undefined });
  if (spec === undefined || !(repair || rewritten !== undefined || broken === true)) return;
  if (broken !== true) {
    changeNode(memory, lease.nodeId, (node) =>
      rewritten === undefined
        ? recordObservation(
            node,
            { seen: 'rebooted', why: `${lease.to} may have restarted its machine or services` },
            now(),
          )
        : { ...node, payload: mergePayload(node.payload, rewritten), facts: withoutServices(node.facts) },
    );
  }
  queueOperation(memory, {
    intent: broken === true ? { kind: 'replace', nodes: [lease.nodeId] } : { kind: 'apply' },
    by: `${lease.to} (it released ${lease.nodeId})`,
    spec,
    cause: 'release',
    waits: true,
    // First in the queue: queued operations expect the restored node, and must not be undone by the present
    // spec.
    first: true,
  });
}

/**
 * Asks the holder whether it still works on the node, periodically and when an operation begins to wait for
 * the node. A holder that no longer exists cannot return the node, so the cluster takes it back.
 */
export async function checkLease(memory: Memory): Promise<NextWake> {
  const { lease, queue } = memory.state;
  const now = Date.now();
  if (lease === undefined) {
    delete memory.leaseCheckedAt;
    return {};
  }
  const waiting = queue.at(-1)?.operation.id;
  memory.leaseCheckedAt ??= now;
  const nextAt = memory.leaseCheckedAt + checkLeaseMs;
  if (now < nextAt && (waiting === undefined || waiting === memory.askedFor)) return { wakeAt: nextAt };
  memory.leaseCheckedAt = now;
  if (waiting !== undefined) memory.askedFor = waiting;
  await takeBackIfAbandoned(memory, lease);
  noteChange(memory);
  return {};
}

async function takeBackIfAbandoned(
  memory: Memory,
  lease: NonNullable<Memory['state']['lease']>,
): Promise<void> {
  try {
    const { has, node } = await schedule(
      'CHECK_LEASE',
      { ...lease, owner: memory.state.name },
      { summary: `CHECK_LEASE ${lease.to}` },
    );
    if (has || memory.state.lease?.leaseId !== lease.leaseId) return;
    log.warn(`${lease.to} no longer works on ${lease.nodeId}, so the lease ends`, { leaseId: lease.leaseId });
    if (lease.rewrites === true) {
      // The disk may hold part of an image.
      releaseLease(memory, { leaseId: lease.leaseId, repair: false, broken: true });
      return;
    }
    // A delete of the cluster does not wait for the machine.
    if (node !== undefined)
      await Promise.race([
        switchOn(memory, node),
        condition(() => memory.state.lease?.leaseId !== lease.leaseId),
      ]);
    releaseLease(memory, { leaseId: lease.leaseId, repair: true });
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn(`it is unknown whether ${lease.to} still works on ${lease.nodeId}`, {
      why: error.cause?.message ?? error.message,
    });
  }
}

/** Facts of a machine that answers and has none of our services. */
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
        why: `cluster ${name} has no node ${nodeId}; run 'heddle nodes ${name}' to see its nodes`,
      }
    : nodeIn(nodes, uid, nodeId);
}

export function nodeIn(nodes: Readonly<Record<string, NodeState>>, uid: string, nodeId: string): NodeReply {
  const node = nodes[nodeId];
  if (node === undefined) return { is: 'unknown', why: `node ${nodeId} no longer exists` };
  const busy = unfitText(node);
  return { is: 'here', uid: node.keyUid ?? uid, node, busy };
}

/**
 * It may have been switched off for a capture that no longer runs. If this fails, the next
 * probe shows it.
 */
async function switchOn(
  { state: { name, lease } }: Memory,
  { uid, node }: NodeReply & { readonly is: 'here' },
): Promise<void> {
  const { nodeId, placement } = node;
  if (placement === undefined) return;
  const machine = { ...node, clusterId: name, uid, placement };
  const operation = `release-${lease?.leaseId.replaceAll('/', '-')}`;
  try {
    await scheduleMachineTask(
      'POWER_ON',
      { ...machineTask(machine, { action: 'POWER_ON', operation }), order: { at: now() } },
      placement,
    );
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn(`${nodeId} could not be switched on`, { why: error.cause?.message ?? error.message });
  }
}
