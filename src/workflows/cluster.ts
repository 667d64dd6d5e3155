import {
  allHandlersFinished, ApplicationFailure, CancellationScope, condition, continueAsNew, setHandler, upsertMemo, uuid4, workflowInfo,
} from '@temporalio/workflow';
import type { ClusterStart } from '../model/messages.js';
import { clusterWorkflowId } from '../model/names.js';
import { rememberedOperations, type Operation, type OperationState } from '../model/operation.js';
import { noPeers, peersPage } from '../model/peers.js';
import { readRefusal } from '../model/refusal.js';
import { statusOf } from '../model/report.js';
import type { ClusterState } from '../model/state.js';
import { summarise } from '../model/summarise.js';
import { acceptApply, acceptDelete, acceptRetry, queueOperation, validateApply, validateRetry } from './accept.js';
import { changeOperation, show, type Memory } from './memory.js';
import {
  applyUpdate, currentQuery, deleteSignal, deleteUpdate, payloadQuery, peersQuery, retryUpdate, specQuery, statusQuery,
} from './messages.js';
import { operate, type OperationEnd } from './operate.js';

/** What a cluster workflow starts with: a Heddle client's word, a raw spec, or the state of its earlier run. */
export type ClusterInput = ClusterStart | { readonly carried: ClusterState } | object;

/**
 * A cluster, for as long as it lives: it takes operations, carries them out one at a time, and is at rest in between.
 * It ends when the cluster was deleted, or when the first thing it was asked could not be accepted.
 */
export async function cluster(input: ClusterInput): Promise<string> {
  // Cancelling the workflow from outside would end it and leave its machines behind; the way to end it is delete.
  return CancellationScope.nonCancellable(() => live(input));
}

async function live(input: ClusterInput): Promise<string> {
  const refusal = readRefusal(input);
  if (refusal !== undefined) throw ApplicationFailure.nonRetryable(refusal, 'Invalid');
  const memory: Memory = { state: openState(input), preempted: false };
  handleMessages(memory);
  if (isRawSpec(input)) queueOperation(memory, 'apply', 'workflow start', input);
  upsertMemo({ heddleUid: memory.state.uid });
  show(memory);
  // A first message that was refused leaves a cluster nobody asked for.
  await condition(() => hasWork(memory), '30 seconds');
  if (!hasWork(memory) && isEmpty(memory)) return 'nothing was asked of this cluster';
  for (;;) {
    await condition(() => hasWork(memory) || (workflowInfo().continueAsNewSuggested && allHandlersFinished()));
    if (!hasWork(memory)) return carryOn(memory);
    const end = await takeUp(memory);
    if (end === 'continue') return carryOn(memory);
    if (await isOver(memory, end)) return `cluster ${memory.state.name} was deleted`;
  }
}

async function carryOn(memory: Memory): Promise<never> {
  await condition(allHandlersFinished);
  return continueAsNew<typeof cluster>({ carried: memory.state });
}

function openState(input: ClusterInput): ClusterState {
  if ('carried' in input) return input.carried;
  const name = workflowInfo().workflowId.replace(/^cluster\//, '');
  const start = 'heddle' in input ? input.heddle : undefined;
  if (workflowInfo().workflowId !== clusterWorkflowId(name)) {
    throw ApplicationFailure.nonRetryable(`a cluster's workflow id is cluster/<name>, not "${workflowInfo().workflowId}"`, 'Invalid');
  }
  return {
    stateVersion: 1, name, uid: start?.uid ?? uuid4(), retired: {}, nodes: {}, peers: noPeers, queue: [], history: [],
    counters: { operation: 0, incarnation: 0, nodenum: 0 }, features: { searchAttributes: false },
  };
}

function isRawSpec(input: ClusterInput): boolean {
  return !('carried' in input) && !('heddle' in input);
}

function handleMessages(memory: Memory): void {
  setHandler(applyUpdate, (request) => acceptApply(memory, request), {
    validator: (request) => validateApply(memory, request), description: 'Bring the cluster to a spec.',
  });
  setHandler(deleteUpdate, (request) => acceptDelete(memory, request), { description: 'Delete the cluster, whatever it is doing.' });
  setHandler(deleteSignal, (request) => {
    acceptDelete(memory, request);
  }, { description: 'Delete the cluster; kept until a worker comes.' });
  setHandler(retryUpdate, (request) => acceptRetry(memory, request), {
    validator: (_request) => validateRetry(memory), description: 'Go on with a held operation from exactly what failed.',
  });
  setHandler(statusQuery, () => statusOf(memory.state), { description: 'Nodes, operation and history, without secrets.' });
  setHandler(specQuery, () => memory.state.spec ?? null, { description: 'The spec that was accepted last.' });
  setHandler(currentQuery, () => summarise(memory.state), { description: 'What planning sees of the cluster.' });
  setHandler(payloadQuery, (nodeId) => memory.state.nodes[nodeId]?.payload ?? null, { description: 'All that is known of a node, credentials included.' });
  setHandler(peersQuery, (request) => peersPage(memory.state, request), { description: 'Nodes that changed since a version.' });
}

function hasWork({ state }: Memory): boolean {
  return state.operation?.state === 'running' || state.queue.length > 0;
}

function isEmpty({ state }: Memory): boolean {
  return Object.keys(state.nodes).length === 0 && state.operation === undefined && state.history.length === 0;
}

/** Goes on with the operation under way, or begins the next. */
async function takeUp(memory: Memory): Promise<OperationEnd> {
  const [next, ...queue] = memory.state.queue;
  const earlier = memory.state;
  if (next !== undefined) {
    endOperation(memory, 'superseded');
    memory.preempted = false;
    const operation: Operation = { ...next.operation, state: 'running', startedAt: now() };
    memory.state = { ...memory.state, queue, operation, target: next.spec, nodes: withoutFailures(memory.state) };
  }
  show(memory);
  const end = await operate(memory);
  if (end === 'done' || end === 'rejected') endOperation(memory, end);
  if (end === 'rejected') holdAgain(memory, earlier);
  else if (end === 'held') changeOperation(memory, { state: 'held' });
  show(memory);
  return end;
}

/** A request that could not be planned changed nothing: the operation that it was to follow is held as before. */
function holdAgain(memory: Memory, { operation, nodes, target }: ClusterState): void {
  if (operation?.state !== 'held') return;
  const history = memory.state.history.filter(({ id }) => id !== operation.id);
  memory.state = { ...memory.state, operation, nodes, history, ...(target === undefined ? {} : { target }) };
}

/** Runs and failures belong to an operation. */
function withoutFailures(state: ClusterState): ClusterState['nodes'] {
  return Object.fromEntries(Object.entries(state.nodes).map(([id, { failure: _failure, ...node }]) => [id, { ...node, runs: {} }]));
}

function endOperation(memory: Memory, end: Extract<OperationState, 'done' | 'rejected' | 'superseded'>): void {
  const { operation, ...state } = memory.state;
  if (operation === undefined) return;
  const { reason, ...rest } = operation;
  const ended: Operation = { ...rest, state: end, endedAt: now(), ...(end === 'done' || reason === undefined ? {} : { reason }) };
  memory.state = { ...state, history: [ended, ...state.history].slice(0, rememberedOperations) };
}

/** The end of a deleted cluster, and of one whose first spec was rejected. */
async function isOver(memory: Memory, end: OperationEnd): Promise<boolean> {
  const [last] = memory.state.history;
  const bare = Object.keys(memory.state.nodes).length === 0 && memory.state.queue.length === 0;
  if (!bare || last === undefined || memory.state.operation !== undefined) return false;
  const deleted = end === 'done' && last.kind === 'delete';
  const rejected = end === 'rejected' && memory.state.spec === undefined;
  if (!deleted && !rejected) return false;
  await condition(allHandlersFinished);
  if (rejected) throw ApplicationFailure.nonRetryable(last.reason ?? 'the spec was rejected', 'Invalid');
  return true;
}

function now(): string {
  return new Date(Date.now()).toISOString();
}
