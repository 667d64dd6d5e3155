import { ApplicationFailure, uuid4 } from '@temporalio/workflow';
import { bringsToSpec, describeIntent, retriedBy, type Intent } from '../../model/plan/intent/intent.js';
import type {
  AbandonRequest,
  ApplyReply,
  ApplyRequest,
  CancelRequest,
  OperateRequest,
  PlainRequest,
  RetryRequest,
} from '../../model/cluster/contract.js';
import { bounds } from '../../model/bounds.js';
import type { Consent } from '../../model/cluster/consent.js';
import { shortUid } from '../../model/names.js';
import { firstWithin } from '../../model/carried.js';
import { refuseTooLarge } from '../../model/cluster/carry.js';
import { refuseLocked } from '../../model/cluster/locked.js';
import { rememberedOperations, type Operation } from '../../model/cluster/operation.js';
import { isUndeletable } from '../../model/node/abandon.js';
import { isTriedAgain, recordRetry } from '../../model/node/record.js';
import { missingRevisionText, missingSpecBeforeText } from '../../model/cluster/revision.js';
import { specBefore, type ClusterState, type Resumed } from '../../model/cluster/state.js';
import { abandonNode } from './carried-nodes.js';
import { clusterExecutor } from './cluster-executor.js';
import { change, now } from '../entity.js';
import { requestUid, sealedAt } from '../taken-messages.js';
import { noteOutcome } from './events.js';
import { groupOfNode, instruct, instructWorking } from './groups.js';
import { changeNodes, changeOperation, type Memory } from './memory.js';
import { sameAsUnderWay } from './same-apply.js';
import { refuseBusy, refuseDeleting, refuseLimits, refuseOutdated, refuseUnknownNodes } from './refuse.js';

/** Why an apply is refused; undefined if it is accepted. Handlers only queue operations. */
export function refuseApply(memory: Memory, request: ApplyRequest): string | undefined {
  if (sameAsUnderWay(memory, request) !== undefined) return undefined;
  const deleting = refuseDeleting(memory.state, 'apply again when it is gone');
  if (deleting !== undefined) return deleting;
  const { name, operation, queue, spec } = memory.state;
  if (request.createOnly === true && (spec !== undefined || operation !== undefined || queue.length > 0)) {
    return `cluster ${name} already exists with another spec; apply without --create-only to change it`;
  }
  const { consent } = request;
  return (
    refuseOutdated(memory.state, consent?.basedOn) ??
    refuseBusy(memory.state, request.queue === true) ??
    refuseTooLarge(memory.state, { intent: applyIntentOf(request), spec: request.spec, consent })
  );
}

export function acceptApply(memory: Memory, request: ApplyRequest): ApplyReply {
  const same = sameAsUnderWay(memory, request);
  const { operation } = memory.state;
  // The same file again, for what failed was put right outside of it.
  if (same !== undefined && operation?.id === same && operation.state === 'held')
    return resumeHeld(memory, operation);
  if (same !== undefined && operation?.state === 'held' && request.queue !== true)
    putBeforeHeld(memory, same);
  if (same !== undefined) return { operation: same, clusterUid: memory.state.uid, unchanged: true };
  return reply(
    memory,
    queueOperation(memory, {
      intent: applyIntentOf(request),
      by: request.by,
      ...requested(),
      spec: request.spec,
      consent: request.consent,
      waits: request.queue === true,
    }),
  );
}

function applyIntentOf({ width, nodes, services }: ApplyRequest): Intent {
  return { kind: 'apply', width, nodes, services };
}

/** A queued operation no longer waits for the end of the held one: it replaces it. */
function putBeforeHeld(memory: Memory, id: string): void {
  const queue = memory.state.queue.map(({ waits, ...queued }) =>
    queued.operation.id === id || waits === undefined ? queued : { ...queued, waits },
  );
  change(memory, { queue });
}

/** Everything but apply and delete. What the request names is checked when it is planned. */
export function refuseOperate(memory: Memory, request: OperateRequest): string | undefined {
  const { intent, queue = false, spec, consent } = request;
  const { state } = memory;
  const deleting = refuseDeleting(state, 'it can only be deleted');
  if (deleting !== undefined) return deleting;
  const { name, operation } = state;
  if (state.spec === undefined && operation === undefined && state.queue.length === 0)
    return `cluster ${name} has no nodes yet; apply a spec first`;
  const unfit =
    intent.kind === 'replace'
      ? (refuseUnknownNodes(memory, intent.nodes) ?? refuseLocked(state))
      : intent.kind === 'rollback'
        ? refuseRollback(state, request)
        : undefined;
  if (unfit !== undefined) return unfit;
  const busy =
    refuseOutdated(state, consent?.basedOn) ??
    refuseBusy(state, queue) ??
    refuseTooLarge(state, { intent, spec, consent });
  if (busy !== undefined) return busy;
  if (operation?.state !== 'held' || queue || intent.kind === 'rollback') return undefined;
  // The file of an operation that was never planned would be forgotten.
  if (intent.kind === 'scale' && state.planned === true) return undefined;
  if (intent.kind === 'replace' && (bringsToSpec(operation.kind) || operation.kind === 'replace'))
    return refuseOutside(operation, intent.nodes) ?? refuseLimits(operation, consent);
  return `cluster ${name} holds operation ${operation.id} (${operation.what}), which failed: retry, replace a node, roll back, scale, apply a corrected file, cancel or delete first`;
}

/** Only delete removes a cluster. */
function refuseRollback(state: ClusterState, { intent, spec }: OperateRequest): string | undefined {
  const { name, revisions } = state;
  const wanted = intent.kind === 'rollback' ? intent.revision : undefined;
  if (wanted !== undefined) {
    if (!revisions.some(({ number }) => number === wanted))
      return missingRevisionText(name, wanted, revisions);
    return spec === undefined ? `the request has no spec of revision ${wanted}` : undefined;
  }
  return specBefore(state) === undefined ? missingSpecBeforeText(name) : undefined;
}

/** A held operation that is limited replaces nothing beyond its limits. */
function refuseOutside({ id, what, intent }: Operation, nodes: readonly string[]): string | undefined {
  if ('services' in intent && intent.services !== undefined)
    return `operation ${id} (${what}) is held and limited to services, so it replaces no node; cancel it first`;
  const limit = 'nodes' in intent ? intent.nodes : undefined;
  const outside = nodes.filter((node) => limit?.includes(node) === false);
  return outside.length === 0
    ? undefined
    : `operation ${id} (${what}) is held and does not include ${outside.join(', ')}; cancel it first, or replace only its nodes`;
}

export function acceptOperate(memory: Memory, request: OperateRequest): ApplyReply {
  const { intent, by, queue = false, consent } = request;
  const { operation } = memory.state;
  if (intent.kind === 'replace' && operation?.state === 'held' && !queue)
    return replaceInHeld(memory, operation, intent.nodes);
  const spec = intent.kind === 'rollback' ? specOfRollback(memory.state, request) : undefined;
  return reply(memory, queueOperation(memory, { intent, by, ...requested(), waits: queue, spec, consent }));
}

function specOfRollback(state: ClusterState, { intent, spec }: OperateRequest): unknown {
  const isRevision = intent.kind === 'rollback' && intent.revision !== undefined;
  return isRevision ? spec : specBefore(state);
}

/** A held operation keeps its place: its nodes get new machines, and it continues. */
function replaceInHeld(memory: Memory, operation: Operation, nodes: readonly string[]): ApplyReply {
  changeNodes(memory, (node) =>
    nodes.includes(node.nodeId) ? { ...node, facts: { ...node.facts, toReplace: true } } : node,
  );
  return resumeHeld(memory, operation, { toReplace: nodes });
}

export function refuseDelete({ state }: Memory): string | undefined {
  return refuseLocked(state);
}

/**
 * A delete preempts: the running operation is cancelled, queued ones are dropped. Repeated deletes are one.
 */
export function acceptDelete(memory: Memory, { by }: PlainRequest): ApplyReply {
  const { operation, queue, uid } = memory.state;
  const earlier = queue.find((queued) => queued.operation.kind === 'delete')?.operation.id;
  if (earlier !== undefined) return { operation: earlier, clusterUid: uid, unchanged: true };
  if (operation?.kind === 'delete' && operation.state === 'running' && memory.halt === undefined) {
    return { operation: operation.id, clusterUid: uid, unchanged: true };
  }
  if (operation?.state === 'running') memory.halt = { to: 'delete', by };
  // The holder of a node finds its machine gone.
  change(memory, { lease: undefined, queue: [] });
  return reply(memory, queueOperation(memory, { intent: { kind: 'delete' }, by, ...requested() }));
}

export function refuseRetry(memory: Memory, { operation: wanted }: RetryRequest): string | undefined {
  const { operation, name } = memory.state;
  if (operation?.state !== 'held')
    return `cluster ${name} holds no failed operation, so there is nothing to retry; run 'heddle apply FILE' to repair its nodes`;
  return operation.uid === wanted
    ? undefined
    : `cluster ${name} now holds operation ${operation.id} (${operation.what}), which is not the one to retry; run 'heddle status ${name}' to see why it is held`;
}

/**
 * A retry confirms what failures asked a person to look for. It counts from when they sent it: after a reset,
 * the server delivers it again.
 */
export function acceptRetry(memory: Memory): ApplyReply {
  const retriedAt = sealedAt();
  changeNodes(memory, (node) => recordRetry(node, retriedAt));
  return resumeHeld(memory, heldOperation(memory), { retriedAt });
}

function resumeHeld(memory: Memory, operation: Operation, resumed: Resumed = {}): ApplyReply {
  const retried = retriedBy(operation.intent);
  changeNodes(memory, (node) => {
    const { failure: _failure, ...rest } = node;
    return isTriedAgain(node, operation.uid, retried) ? rest : node;
  });
  const { reason: _reason, failures: _failures, missing: _missing, repairs: _repairs, ...rest } = operation;
  const tasks = { ...rest.tasks, failed: 0 };
  change(memory, { operation: { ...rest, tasks, state: 'running' }, retry: requestUid(), resumed });
  return reply(memory, operation.id);
}

export function refuseCancel(memory: Memory, { operation: wanted }: CancelRequest): string | undefined {
  const { operation, queue, history, name } = memory.state;
  if (wanted === undefined) return `cluster ${name} has no operation to cancel`;
  if ([operation, ...queue.map((queued) => queued.operation)].some((known) => known?.uid === wanted))
    return undefined;
  const ended = history.find(({ uid }) => uid === wanted);
  const which = ended === undefined ? 'the operation to cancel' : `operation ${ended.id} (${ended.what})`;
  return `${which} of cluster ${name} does not run, is not held and does not wait; run 'heddle history ${name}' to see its operations`;
}

/** Cancels an operation. The cluster then stays as it is, except for machines that were never confirmed. */
export function acceptCancel(memory: Memory, { by, operation: wanted }: CancelRequest): ApplyReply {
  const { operation, queue } = memory.state;
  const waiting = queue.find((queued) => queued.operation.uid === wanted);
  if (waiting !== undefined) {
    change(memory, { queue: queue.filter((queued) => queued !== waiting) });
    endOperation(memory, 'cancelled', { ...waiting.operation, reason: `cancelled by ${by} before it began` });
    return reply(memory, waiting.operation.id);
  }
  if (operation !== undefined) {
    const held = operation.state === 'held' ? { held: operation.reason ?? '' } : {};
    memory.halt ??= { to: 'cancel', by, ...held };
    changeOperation(memory, { state: 'running' });
  }
  return reply(memory, operation?.id ?? '');
}

export function refusePause(memory: Memory): string | undefined {
  const { operation, name } = memory.state;
  if (operation?.state !== 'running')
    return `no operation of cluster ${name} is running, so there is nothing to pause`;
  return undefined;
}

export function acceptPause(memory: Memory, { by }: PlainRequest): ApplyReply {
  const { operation } = memory.state;
  if (operation?.paused === undefined) {
    changeOperation(memory, { paused: { by, at: now() } });
    instructWorking(memory, { do: 'pause', paused: true });
  }
  return reply(memory, operation?.id ?? '');
}

export function refuseResume(memory: Memory): string | undefined {
  const { operation, name } = memory.state;
  if (operation?.paused === undefined) return `cluster ${name} is not paused`;
  return undefined;
}

export function acceptResume(memory: Memory): ApplyReply {
  const { operation } = memory.state;
  if (operation !== undefined) {
    const { paused: _paused, ...rest } = operation;
    change(memory, { operation: rest });
    instructWorking(memory, { do: 'pause', paused: false });
  }
  return reply(memory, operation?.id ?? '');
}

/** Only a machine that the operation is to delete, and cannot: no other is left to the sweep. */
export function refuseAbandon(memory: Memory, { nodeId }: AbandonRequest): string | undefined {
  const { operation, name, nodes } = memory.state;
  const refusal = refuseLocked(memory.state) ?? refuseUnknownNodes(memory, [nodeId]);
  if (refusal !== undefined) return refusal;
  if (operation === undefined)
    return `a node can be abandoned only while an operation deletes its machine; cluster ${name} is at rest`;
  const node = nodes[nodeId];
  // A group judges its own nodes; a held operation knows its first failures.
  const { state, tasks, failures = [] } = operation;
  const mayBeUndeletable =
    state !== 'held' ||
    tasks.failed > failures.length ||
    failures.some((failure) => failure.nodeId === nodeId && failure.action === 'DELETE');
  return (node === undefined ? mayBeUndeletable : isUndeletable(node))
    ? undefined
    : `node ${nodeId} of cluster ${name} can be abandoned only if the deletion of its machine fails or does not end; 'heddle replace ${name} ${nodeId}' gives it another machine`;
}

/** Forgets a node whose machine cannot be deleted, on a person's word. What was given up is recorded. */
export function acceptAbandon(memory: Memory, { nodeId, by }: AbandonRequest): ApplyReply {
  const operation = heldOperation(memory);
  const node = memory.state.nodes[nodeId];
  const group = groupOfNode(memory, nodeId);
  if (node !== undefined) {
    abandonNode(clusterExecutor(memory), node, by);
  } else if (group !== undefined) instruct(memory, group, { do: 'abandon', nodeId, by });
  if (operation.state === 'held') return resumeHeld(memory, heldOperation(memory));
  planAgain(memory);
  return reply(memory, operation.id);
}

/** The node may be one that gets another machine. */
function planAgain(memory: Memory): void {
  const { work } = memory.state;
  if (work !== undefined) change(memory, { work: { ...work, again: true, doneBefore: -1 } });
}

/** Of a request that a handler has just taken. */
function requested(): Pick<Queueing, 'uid' | 'at'> {
  return { uid: requestUid(), at: sealedAt() };
}

export interface Queueing {
  readonly intent: Intent;
  readonly by: string;
  /** Default: a new one. */
  readonly uid?: string;
  /**
   * When a client requested it, in ms since the epoch, also if the server delivers the request again after a
   * reset.
   */
  readonly at?: number;
  readonly spec?: unknown;
  readonly consent?: Consent | undefined;
  /** Let the operations before it end first, a held one too. */
  readonly waits?: boolean;
  /** Before all that wait. */
  readonly first?: boolean;
  /** Why, if no user requested it. */
  readonly cause?: Operation['cause'];
}

export function queueOperation(
  memory: Memory,
  { intent, by, uid, at, spec, consent, waits = false, first = false, cause }: Queueing,
): string {
  const { counters, queue } = memory.state;
  const id = String(counters.operation + 1);
  const operation: Operation = {
    ...newOperation(id, { intent, by, uid, at }),
    ...(cause === undefined ? {} : { cause }),
  };
  const queued = {
    operation,
    spec,
    ...(consent === undefined ? {} : { consent }),
    ...(waits ? { waits } : {}),
  };
  change(memory, {
    counters: { ...counters, operation: counters.operation + 1 },
    queue: first ? [queued, ...queue] : [...queue, queued],
  });
  return id;
}

export function newOperation(
  id: string,
  { intent, by, uid = shortUid(uuid4()), at }: Pick<Queueing, 'intent' | 'by' | 'uid' | 'at'>,
): Operation {
  return {
    id,
    uid,
    kind: intent.kind,
    intent,
    what: describeIntent(intent),
    by,
    state: 'queued',
    requestedAt: at === undefined ? now() : new Date(at).toISOString(),
    tasks: { total: 0, done: 0, failed: 0 },
  };
}

function reply({ state }: Memory, operation: string): ApplyReply {
  return { operation, clusterUid: state.uid };
}

function heldOperation({ state }: Memory): Operation {
  if (state.operation === undefined) throw ApplicationFailure.nonRetryable('nothing is held', 'Invalid');
  return state.operation;
}

/** The last operations, and of large ones fewer. */
function rememberedOf(history: readonly Operation[]): readonly Operation[] {
  return firstWithin(history.slice(0, rememberedOperations), bounds.cluster.history.most);
}

/** Puts an operation that is over among the remembered ones. */
export function endOperation(memory: Memory, end: Operation['state'], operation: Operation): void {
  const { paused: _paused, ...rest } = operation;
  const ended: Operation = { ...rest, state: end, endedAt: now() };
  const { operation: current, history } = memory.state;
  const isCurrent = current === undefined || current.id === operation.id;
  change(memory, {
    history: rememberedOf([ended, ...history]),
    ...(isCurrent
      ? { operation: undefined, target: undefined, consent: undefined, planned: undefined, retry: undefined }
      : {}),
  });
  noteOutcome(memory, ended);
}
