import { clusterWorkflowId } from '../../model/names.js';
import { failureOf, type GroupFailure } from '../../model/cluster/group.js';
import { rememberedFailures, type OperationFailure } from '../../model/cluster/operation.js';
import { servicesOf } from '../../model/cluster/state.js';
import {
  countGate,
  enterTurn,
  holdsTurn,
  isOpen,
  leaveTurn,
  shutTurn,
  type Coordination,
} from '../../model/cluster/work.js';
import { noteChange } from '../entity.js';
import type { Executor } from './executor.js';
import { groupOfNode, instruct } from './groups.js';
import { changeOperation, countTasks, hideNode, type Memory } from './memory.js';

const noCoordination: Coordination = { needed: {}, passed: {}, width: 1, turns: {}, asked: [], aside: {} };

/** The nodes that the cluster workflow carries itself, with gates and turns at hand. */
export function clusterExecutor(memory: Memory): Executor {
  return {
    memory,
    inFlight: memory.state.limits.inFlight,
    isOpen: (gate) => isOpen(coordinationOf(memory), gate),
    count: (gate) => count(memory, gate),
    askTurn: (turn, nodeId) => askTurn(memory, turn, nodeId),
    holdsTurn: (turn, nodeId) => holdsTurn(coordinationOf(memory), turn, nodeId),
    leaveTurn: (turn, nodeId) => leaveTurnOf(memory, turn, nodeId),
    paused: () => memory.state.operation?.paused !== undefined,
    tasks: (change) => countTasks(memory, change),
    failed: (node, failure, remaining) =>
      nodeFailed(memory, node.group, failureOf(node.nodeId, failure), remaining),
    announced: () => undefined,
    nextIncarnation: () => {
      const { counters } = memory.state;
      memory.state = { ...memory.state, counters: { ...counters, incarnation: counters.incarnation + 1 } };
      return counters.incarnation + 1;
    },
    service: (name) => servicesOf(memory.state)[name],
    taskBase: () => {
      const { name, uid, spec, peers } = memory.state;
      const command = commandOf(memory);
      return {
        clusterId: name,
        clusterUid: uid,
        cluster: spec?.config ?? {},
        peersOf: clusterWorkflowId(name),
        peersVersion: peers.version,
        command,
      };
    },
    changed: () => {
      noteChange(memory);
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

function changeCoordination(memory: Memory, change: (coordination: Coordination) => Coordination): void {
  memory.state = { ...memory.state, coordination: change(coordinationOf(memory)) };
}

function count(memory: Memory, gate: string): void {
  const wasOpen = isOpen(coordinationOf(memory), gate);
  changeCoordination(memory, (coordination) => countGate(coordination, gate));
  if (wasOpen || !isOpen(coordinationOf(memory), gate)) return;
  for (const [id, { waits }] of Object.entries(memory.state.groups)) {
    if (waits.includes(gate)) instruct(memory, id, { do: 'open', gates: [gate], turns: [] });
  }
}

/** Gives the node a place in the turn when there is one; else it waits for its place. */
export function askTurn(memory: Memory, turn: string, nodeId: string): void {
  if (holdsTurn(coordinationOf(memory), turn, nodeId)) return;
  changeCoordination(memory, (coordination) => enterTurn(coordination, turn, nodeId));
  if (!holdsTurn(coordinationOf(memory), turn, nodeId)) {
    const waits = coordinationOf(memory).asked.some((ask) => ask.turn === turn && ask.nodeId === nodeId);
    if (!waits)
      changeCoordination(memory, (coordination) => ({
        ...coordination,
        asked: [...coordination.asked, { turn, nodeId }],
      }));
    return;
  }
  const group = groupOfNode(memory, nodeId);
  if (group !== undefined) instruct(memory, group, { do: 'open', gates: [], turns: [{ turn, nodeId }] });
}

export function leaveTurnOf(memory: Memory, turn: string, nodeId: string): void {
  changeCoordination(memory, (coordination) => leaveTurn(coordination, turn, nodeId));
  const next = coordinationOf(memory).asked.find((ask) => ask.turn === turn);
  if (next === undefined) return;
  changeCoordination(memory, (coordination) => ({
    ...coordination,
    asked: coordination.asked.filter((ask) => ask !== next),
  }));
  askTurn(memory, next.turn, next.nodeId);
}

/** A node has failed for good: the operation goes on without it, or holds what depends on it. */
export function nodeFailed(
  memory: Memory,
  specGroup: string,
  failure: OperationFailure,
  remaining: GroupFailure['remaining'],
): void {
  const { nodeId } = failure;
  const earlier = memory.state.operation?.failures ?? [];
  if (earlier.length < rememberedFailures) changeOperation(memory, { failures: [...earlier, failure] });
  const aside = mayGoOnWithout(memory, specGroup);
  if (!aside) {
    const turn = remaining[0]?.turn;
    if (turn !== undefined) changeCoordination(memory, (coordination) => shutTurn(coordination, turn));
    return;
  }
  changeCoordination(memory, (coordination) => ({
    ...coordination,
    aside: { ...coordination.aside, [specGroup]: (coordination.aside[specGroup] ?? 0) + 1 },
  }));
  const group = groupOfNode(memory, nodeId);
  if (group === undefined) hideNode(memory, nodeId, 'aside');
  else instruct(memory, group, { do: 'aside', nodeId });
  // Its remaining steps block no other node.
  for (const { counts } of remaining) {
    if (counts !== undefined) count(memory, counts);
  }
  for (const turn of new Set(remaining.flatMap((step) => step.turn ?? []))) leaveTurnOf(memory, turn, nodeId);
}

/** The cluster's policy says `continue`, or the node's group keeps its minimum without it. */
function mayGoOnWithout(memory: Memory, specGroup: string): boolean {
  const { spec, operation } = memory.state;
  if (operation?.kind !== 'apply' && operation?.kind !== 'rollback') return false;
  if (spec?.onFailure === 'continue') return true;
  const { count: wanted = 0, minimum = wanted } = spec?.groups[specGroup] ?? {};
  return (coordinationOf(memory).aside[specGroup] ?? 0) < wanted - minimum;
}
