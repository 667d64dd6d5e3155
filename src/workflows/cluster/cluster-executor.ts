import { withCounts } from '../../model/cluster/scaled.js';
import { bringsToSpec } from '../../model/plan/intent/intent.js';
import { membershipVersion } from '../../model/node/peers.js';
import { payloadBounds } from '../../model/node/room.js';
import { clusterWorkflowId } from '../../model/names.js';
import { failureOf, type GroupFailure } from '../../model/cluster/group.js';
import { addFailure, addMissing, type OperationFailure } from '../../model/cluster/operation.js';
import { replacesLost } from '../../model/cluster/repair.js';
import { servicesOf } from '../../model/cluster/state.js';
import {
  countGate,
  takeBatchSlot,
  holdsBatchSlot,
  isOpen,
  releaseBatchSlot,
  closeBatchSlot,
  type Coordination,
} from '../../model/cluster/work.js';
import { taskVariables } from '../../model/cluster/variables.js';
import { change } from '../entity.js';
import { excludeNode } from './carried-nodes.js';
import type { Executor } from './executor.js';
import { groupOfNode, instruct } from './groups.js';
import { changeOperation, countTasks, noteAbandoned, type Memory } from './memory.js';

const noCoordination: Coordination = { needed: {}, passed: {}, width: 1, batchSlots: {}, asked: [] };

/** The nodes that the cluster workflow carries itself, with direct access to gates and batch slots. */
export function clusterExecutor(memory: Memory): Executor {
  return {
    memory,
    inFlight: memory.state.limits.inFlight,
    payloadBound: payloadBounds.cluster,
    isOpen: (gate) => isOpen(coordinationOf(memory), gate),
    count: (gate) => count(memory, gate),
    requestBatchSlot: (batchSlot, nodeId) => requestBatchSlot(memory, batchSlot, nodeId),
    holdsBatchSlot: (batchSlot, nodeId) => holdsBatchSlot(coordinationOf(memory), batchSlot, nodeId),
    releaseBatchSlot: (batchSlot, nodeId) => releaseBatchSlotOf(memory, batchSlot, nodeId),
    paused: () => memory.state.operation?.paused !== undefined,
    tasks: (added) => countTasks(memory, added),
    failed: (node, failure, remaining) =>
      nodeFailed(memory, node.group, failureOf(node.nodeId, failure), remaining),
    announced: () => undefined,
    abandoned: (machine) => noteAbandoned(memory, [machine]),
    service: (name) => servicesOf(memory.state)[name],
    taskBase: () => {
      const { name, uid, spec, peers, imports } = memory.state;
      const command = commandOf(memory);
      return {
        clusterId: name,
        clusterUid: uid,
        cluster: spec?.config ?? {},
        peersOf: clusterWorkflowId(name),
        peersVersion: membershipVersion(peers),
        command,
        variables: taskVariables(spec, imports),
      };
    },
  };
}

/** What EXEC is to run in the operation under way. */
export function commandOf({
  state,
}: Memory): { readonly text: string; readonly sudo?: true; readonly timeoutMs?: number } | undefined {
  const intent = state.operation?.intent;
  if (intent?.kind !== 'exec') return undefined;
  const { command, sudo, timeoutMs } = intent;
  return { text: command, sudo, timeoutMs };
}

function coordinationOf({ state }: Memory): Coordination {
  return state.coordination ?? noCoordination;
}

function changeCoordination(memory: Memory, to: (coordination: Coordination) => Coordination): void {
  change(memory, { coordination: to(coordinationOf(memory)) });
}

function count(memory: Memory, gate: string): void {
  const wasOpen = isOpen(coordinationOf(memory), gate);
  changeCoordination(memory, (coordination) => countGate(coordination, gate));
  if (wasOpen || !isOpen(coordinationOf(memory), gate)) return;
  for (const [id, { waits }] of Object.entries(memory.state.groups)) {
    if (waits.includes(gate)) instruct(memory, id, { do: 'open', gates: [gate], batchSlots: [] });
  }
}

/** Gives the node a batch slot if one is free; otherwise the node waits for one. */
export function requestBatchSlot(memory: Memory, batchSlot: string, nodeId: string): void {
  if (holdsBatchSlot(coordinationOf(memory), batchSlot, nodeId)) return;
  changeCoordination(memory, (coordination) => takeBatchSlot(coordination, batchSlot, nodeId));
  if (!holdsBatchSlot(coordinationOf(memory), batchSlot, nodeId)) {
    const waits = coordinationOf(memory).asked.some(
      (ask) => ask.batchSlot === batchSlot && ask.nodeId === nodeId,
    );
    if (!waits)
      changeCoordination(memory, (coordination) => ({
        ...coordination,
        asked: [...coordination.asked, { batchSlot, nodeId }],
      }));
    return;
  }
  const group = groupOfNode(memory, nodeId);
  if (group !== undefined)
    instruct(memory, group, { do: 'open', gates: [], batchSlots: [{ batchSlot, nodeId }] });
}

export function releaseBatchSlotOf(memory: Memory, batchSlot: string, nodeId: string): void {
  changeCoordination(memory, (coordination) => releaseBatchSlot(coordination, batchSlot, nodeId));
  const next = coordinationOf(memory).asked.find(
    (ask) => ask.batchSlot === batchSlot && !isOfLostGroup(memory, ask.nodeId),
  );
  if (next === undefined) return;
  changeCoordination(memory, (coordination) => ({
    ...coordination,
    asked: coordination.asked.filter((ask) => ask !== next),
  }));
  requestBatchSlot(memory, next.batchSlot, next.nodeId);
}

/** A batch slot would stay with such a node: its group receives no instructions. */
function isOfLostGroup(memory: Memory, nodeId: string): boolean {
  const group = groupOfNode(memory, nodeId);
  return group !== undefined && memory.state.groups[group]?.lost === true;
}

/**
 * Handles the permanent failure of a node: the operation continues without it, or holds what depends on it.
 */
export function nodeFailed(
  memory: Memory,
  specGroup: string,
  failure: OperationFailure,
  remaining: GroupFailure['remaining'],
): void {
  const { nodeId } = failure;
  const excluded =
    memory.halt === undefined &&
    !replacesLost(memory.state, failure.lost?.seen) &&
    (mayContinueWithout(memory, specGroup) || isTolerated(memory, failure));
  const recorded = excluded ? { ...failure, tolerated: true as const } : failure;
  changeOperation(memory, { failures: addFailure(memory.state.operation?.failures ?? [], recorded) });
  if (!excluded) {
    const batchSlot = remaining[0]?.batchSlot;
    if (batchSlot !== undefined)
      changeCoordination(memory, (coordination) => closeBatchSlot(coordination, batchSlot));
    return;
  }
  const missing = { nodeId, group: specGroup, service: failure.service };
  changeOperation(memory, { missing: addMissing(memory.state.operation?.missing, missing) });
  const group = groupOfNode(memory, nodeId);
  if (group !== undefined) {
    instruct(memory, group, { do: 'exclude', nodeId, remaining });
    return;
  }
  excludeNode(clusterExecutor(memory), nodeId, { operation: memory.state.operation?.uid ?? '', remaining });
}

/** The failed service rolls, and may fail on another of its nodes. */
function isTolerated(memory: Memory, { service = '' }: OperationFailure): boolean {
  const { operation, spec } = memory.state;
  const { maxFailures = 0 } = spec?.services[service]?.rolling ?? {};
  const { kind, missing } = operation ?? {};
  const rolls = bringsToSpec(kind) || kind === 'restart' || kind === 'reconfigure';
  return rolls && (missing?.services[service] ?? 0) < maxFailures;
}

/** The cluster's policy says `continue`, or the node's group keeps its minimum without it. */
function mayContinueWithout(memory: Memory, specGroup: string): boolean {
  const { spec, operation, scaled } = memory.state;
  if (spec === undefined || operation === undefined || !bringsToSpec(operation.kind)) return false;
  if (spec.onFailure === 'continue') return true;
  const { count = 0, minimum = count } = withCounts(spec, scaled).nodes[specGroup] ?? {};
  return (operation.missing?.groups[specGroup] ?? 0) < count - minimum;
}
