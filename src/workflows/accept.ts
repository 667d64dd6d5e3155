import { ApplicationFailure } from '@temporalio/workflow';
import type { Json } from '../model/json.js';
import type { ApplyReply, ApplyRequest, DeleteRequest, RetryRequest } from '../model/messages.js';
import type { Operation, OperationKind } from '../model/operation.js';
import { stableJson } from '../model/payload.js';
import { readRefusal } from '../model/refusal.js';
import { changeOperation, type Memory } from './memory.js';

/** What a cluster says to a request, before and when it takes it. Handlers only queue; the work is the main loop's. */
export function validateApply(memory: Memory, request: ApplyRequest): void {
  const refusal = readRefusal(request);
  if (refusal !== undefined) throw new Error(refusal);
  if (sameAsUnderWay(memory, request) !== undefined) return;
  const { name, operation, queue, spec } = memory.state;
  if (operation?.kind === 'delete' || queue.some((queued) => queued.operation.kind === 'delete')) {
    throw new Error(`cluster ${name} is being deleted; apply again when it is gone`);
  }
  if (request.createOnly === true && (spec !== undefined || operation !== undefined || queue.length > 0)) {
    throw new Error(`cluster ${name} is there already with another spec; apply without --create-only changes it`);
  }
  if (operation?.state === 'running' || queue.length > 0) {
    const busy = operation ?? queue[0]?.operation;
    throw new Error(`cluster ${name} is busy with operation ${busy?.id} (${busy?.kind} by ${busy?.by}); apply again when it has ended`);
  }
}

export function acceptApply(memory: Memory, request: ApplyRequest): ApplyReply {
  const same = sameAsUnderWay(memory, request);
  if (same !== undefined) return { operation: same, clusterUid: memory.state.uid, unchanged: true };
  return { operation: queueOperation(memory, 'apply', request.by, request.spec), clusterUid: memory.state.uid };
}

/** Delete preempts: what runs is cancelled, what was queued is dropped. Asked twice, it is one delete. */
export function acceptDelete(memory: Memory, request: DeleteRequest): ApplyReply {
  const { operation, queue, uid } = memory.state;
  const earlier = queue.find((queued) => queued.operation.kind === 'delete')?.operation.id;
  if (earlier !== undefined) return { operation: earlier, clusterUid: uid, unchanged: true };
  if (operation?.kind === 'delete' && operation.state === 'running') return { operation: operation.id, clusterUid: uid, unchanged: true };
  memory.preempted = operation?.state === 'running';
  memory.state = { ...memory.state, queue: [] };
  return { operation: queueOperation(memory, 'delete', request.by), clusterUid: uid };
}

export function validateRetry(memory: Memory): void {
  const { operation, name } = memory.state;
  if (operation?.state !== 'held') throw new Error(`cluster ${name} holds no failed operation, so there is nothing to retry`);
}

export function acceptRetry(memory: Memory, _request: RetryRequest): ApplyReply {
  const { operation, uid, nodes } = memory.state;
  if (operation === undefined) throw ApplicationFailure.nonRetryable('nothing to retry', 'Invalid');
  const cleared = Object.fromEntries(Object.entries(nodes).map(([id, { failure: _failure, ...node }]) => [id, node]));
  memory.state = { ...memory.state, nodes: cleared };
  changeOperation(memory, { state: 'running' });
  return { operation: operation.id, clusterUid: uid };
}

export function queueOperation(memory: Memory, kind: OperationKind, by: string, spec?: unknown): string {
  const { counters, queue } = memory.state;
  const id = String(counters.operation + 1);
  const operation: Operation = {
    id, kind, by, state: 'queued', requestedAt: new Date(Date.now()).toISOString(), tasks: { total: 0, done: 0, failed: 0 },
  };
  memory.state = {
    ...memory.state, counters: { ...counters, operation: counters.operation + 1 },
    queue: [...queue, spec === undefined ? { operation } : { operation, spec }],
  };
  return id;
}

/**
 * The operation that is bringing, or has brought, this very spec: the same request again changes nothing. A spec that is
 * being deleted, or that was never brought to its end, is not there.
 */
function sameAsUnderWay({ state }: Memory, { spec }: ApplyRequest): string | undefined {
  const wanted = stableJson(spec as Json);
  const isWanted = (other: unknown): boolean => other !== undefined && stableJson(other as Json) === wanted;
  const { operation, queue, history } = state;
  if (operation?.kind === 'delete' || queue.some((queued) => queued.operation.kind === 'delete')) return undefined;
  const queued = queue.find((entry) => isWanted(entry.spec));
  if (queued !== undefined) return queued.operation.id;
  if (operation !== undefined) return isWanted(state.target ?? state.spec) ? operation.id : undefined;
  const last = history.find(({ kind, state: end }) => kind === 'apply' && end !== 'rejected');
  return isWanted(state.spec) && last?.state === 'done' ? last.id : undefined;
}
