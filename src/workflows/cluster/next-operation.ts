import { allHandlersFinished, ApplicationFailure } from '@temporalio/workflow';
import { withDependents, withNeeds } from '../../model/plan/order/dependencies.js';
import { bringsToSpec, retriedBy, type Intent } from '../../model/plan/intent/intent.js';
import type { Json } from '../../model/json.js';
import type { Operation } from '../../model/cluster/operation.js';
import { outlinesOf } from '../../model/plan/order/dependencies.js';
import { stableJson } from '../../model/node/payload.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import {
  servicesOf,
  withLockOf,
  type ClusterState,
  type QueuedOperation,
} from '../../model/cluster/state.js';
import { endOperation, queueOperation } from './accept.js';
import { change, now } from '../entity.js';
import { instructAll } from './groups.js';
import { isPublished, noteOutcome, noteState } from './events.js';
import { forgetOperation, forgottenNodes, restoreNodes } from './forgotten.js';
import { changeNodes, changeOperation, type Memory } from './memory.js';
import { dropRevisions } from './revisions.js';
import { operate, type OperationEnd } from './operate.js';
import { undeletedText } from './settle.js';
import { condition } from '../inbox.js';

export function hasWork({ state }: Memory): boolean {
  return state.operation?.state === 'running' || nextQueued(state) !== undefined;
}

/** While an operation is held, only operations that replace it begin; while a node is leased, none. */
function nextQueued({ operation, queue, lease }: ClusterState): QueuedOperation | undefined {
  if (lease !== undefined) return undefined;
  return operation?.state === 'held' ? queue.find(({ waits }) => waits !== true) : queue[0];
}

/** Goes on with the operation under way, or begins the next. */
export async function startNextOperation(memory: Memory): Promise<OperationEnd> {
  const earlier = memory.state;
  const begins = earlier.operation?.state !== 'running';
  if (begins) beginOperation(memory);
  const end = await operate(memory);
  const { operation, spec, planned } = memory.state;
  if (operation === undefined || end === 'continue') return end;
  switch (end) {
    case 'done':
      if (spec !== undefined) noteAchieved(memory, operation);
      endOperation(memory, 'done', operation);
      break;
    case 'failed':
      endOperation(memory, 'failed', operation);
      break;
    case 'rejected':
      endOperation(memory, 'rejected', operation);
      if (begins) restore(memory, earlier);
      break;
    case 'halted':
      endHalted(memory, operation);
      if (begins && planned !== true && memory.halt?.to === 'cancel') restore(memory, earlier);
      break;
    case 'held':
      holdOrRollBack(memory, operation);
  }
  delete memory.halt;
  return end;
}

function beginOperation(memory: Memory): void {
  const earlier = memory.state;
  const next = nextQueued(earlier);
  if (next === undefined) return;
  const { operation: held } = memory.state;
  if (held !== undefined) endOperation(memory, 'superseded', held);
  const operation: Operation = { ...next.operation, state: 'running', startedAt: now() };
  const queue = memory.state.queue.filter((queued) => queued !== next);
  change(memory, {
    fresh: true,
    queue,
    operation,
    stopped: stoppedBy(memory.state, operation.intent),
    target: targetOf(earlier, next),
    consent: next.consent,
    planned: undefined,
    retry: undefined,
  });
  const replaced = operation.intent.kind === 'replace' ? operation.intent.nodes : [];
  forgetOperation(memory, retriedBy(operation.intent));
  changeNodes(memory, (node) =>
    replaced.includes(node.nodeId) ? { ...node, facts: { ...node.facts, toReplace: true } } : node,
  );
}

/** A service that is stopped stays so until it is started, with what depends on it. */
function stoppedBy(state: ClusterState, intent: Intent): readonly string[] {
  const { stopped } = state;
  if (intent.kind !== 'stop' && intent.kind !== 'start') return stopped;
  const outlines = outlinesOf(servicesOf(state));
  const named = intent.services.length === 0 ? Object.keys(outlines) : intent.services;
  if (intent.kind === 'stop') return [...new Set([...stopped, ...withDependents(outlines, named)])];
  const started = withNeeds(outlines, named);
  return stopped.filter((name) => !started.includes(name));
}

/** A rollback keeps the lock that the cluster has when it begins. */
function targetOf(state: ClusterState, { operation, spec }: QueuedOperation): unknown {
  return operation.kind === 'rollback' && spec !== undefined ? withLockOf(state, spec as ClusterSpec) : spec;
}

function noteAchieved(memory: Memory, { kind, left = 0 }: Operation): void {
  if (left > 0) return;
  const { spec, achieved, scaled } = memory.state;
  if (spec === undefined || !bringsToSpec(kind)) return;
  change(memory, { achievedCounts: scaled });
  if (
    achieved !== undefined &&
    stableJson(achieved as unknown as Json) === stableJson(spec as unknown as Json)
  )
    return;
  change(memory, { achieved: spec, ...(achieved === undefined ? {} : { before: achieved }) });
}

/**
 * A request that could not be planned changed nothing: its nodes are as the operation before left them, which
 * is held if it was.
 */
function restore(
  memory: Memory,
  { operation, nodes, target, consent, planned, stopped, retry }: ClusterState,
): void {
  change(memory, { stopped });
  restoreNodes(memory, forgottenNodes(nodes));
  instructAll(memory, { do: 'restore' });
  if (operation?.state !== 'held') return;
  const history = memory.state.history.filter(({ id }) => id !== operation.id);
  change(memory, {
    operation,
    history,
    ...(target === undefined ? {} : { target }),
    ...(consent === undefined ? {} : { consent }),
    ...(planned === undefined ? {} : { planned }),
    ...(retry === undefined ? {} : { retry }),
  });
  noteState(memory, operation);
}

function endHalted(memory: Memory, operation: Operation): void {
  const { halt } = memory;
  if (halt?.to === 'delete') {
    endOperation(memory, 'superseded', {
      ...operation,
      reason: `superseded by delete, requested by ${halt.by}`,
    });
    return;
  }
  const { by = 'an unknown user', held } = halt ?? {};
  const left = undeletedText(memory);
  endOperation(memory, 'cancelled', {
    ...operation,
    reason: `cancelled by ${by}${held === undefined ? '' : ` while it was held: ${held}`}${left === undefined ? '' : `; ${left}`}`,
  });
}

/** A failure waits for a person, unless the cluster's policy is to roll back. */
function holdOrRollBack(memory: Memory, operation: Operation): void {
  const { spec, achieved } = memory.state;
  const byPolicy =
    (operation.kind === 'apply' || operation.kind === 'scale') &&
    spec?.onFailure === 'rollback' &&
    (operation.failures ?? []).length > 0;
  if (!byPolicy || achieved === undefined) {
    const why = byPolicy
      ? { reason: `${operation.reason ?? ''}; there is no previous spec to return to` }
      : {};
    changeOperation(memory, { state: 'held', ...why });
    noteOutcome(memory, { ...operation, ...why, state: 'held' });
    return;
  }
  endOperation(memory, 'failed', operation);
  queueOperation(memory, {
    intent: { kind: 'rollback' },
    // An operation rolls back once, also if it is requested again after a reset.
    uid: `${operation.uid}-rollback`,
    by: `onFailure: rollback (operation ${operation.id} failed)`,
    spec: achieved,
    cause: 'failure',
  });
}

/** The end of a deleted cluster, and of one whose first spec was rejected. */
export async function isOver(memory: Memory, end: OperationEnd): Promise<boolean> {
  const [last] = memory.state.history;
  const bare =
    Object.keys(memory.state.nodes).length === 0 &&
    Object.values(memory.state.groups).every(({ ending }) => ending === true) &&
    memory.state.queue.length === 0;
  if (!bare || last === undefined || memory.state.operation !== undefined) return false;
  const deleted = end === 'done' && last.kind === 'delete';
  const rejected = end === 'rejected' && memory.state.spec === undefined;
  if (!deleted && !rejected) return false;
  await condition(
    () =>
      allHandlersFinished() &&
      memory.sending.length === 0 &&
      isPublished(memory) &&
      Object.keys(memory.state.groups).length === 0,
  );
  // Asked for while the groups were ending: the cluster lives on.
  if (memory.state.queue.length > 0) return false;
  await dropRevisions(memory);
  if (memory.state.queue.length > 0) return false;
  if (rejected) throw ApplicationFailure.nonRetryable(last.reason ?? 'the spec was rejected', 'Invalid');
  return true;
}
