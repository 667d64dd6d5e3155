import { queuedOperations, type Operation } from '../../model/cluster/operation.js';
import { type Basis, type Consent, isSameBasis } from '../../model/cluster/consent.js';
import type { ClusterState } from '../../model/cluster/state.js';
import { groupOfNode } from './groups.js';
import type { Memory } from './memory.js';

/** Why a cluster refuses a request; undefined if it does not. */
export function refuseDeleting({ name, operation, queue }: ClusterState, then: string): string | undefined {
  const deleting = operation?.kind === 'delete' || queue.some((queued) => queued.operation.kind === 'delete');
  return deleting ? `cluster ${name} is being deleted; ${then}` : undefined;
}

export function basisOf({
  uid,
  counters,
  operation,
  retry,
}: Pick<ClusterState, 'uid' | 'counters' | 'operation' | 'retry'>): Basis {
  return {
    clusterUid: uid,
    operation: counters.operation,
    ...(operation === undefined ? {} : { state: operation.state }),
    ...(retry === undefined ? {} : { retry }),
  };
}

/** The request was made for an earlier state. */
export function refuseOutdated(state: ClusterState, basedOn: Basis | undefined): string | undefined {
  if (basedOn === undefined) return undefined;
  const { name, uid, counters, operation, queue, history } = state;
  if (basedOn.clusterUid !== undefined && basedOn.clusterUid !== uid)
    return `cluster ${name} was created again since this was planned; plan again`;
  if (isSameBasis(basedOn, basisOf(state))) return undefined;
  const known = [...queue.map((queued) => queued.operation), ...(operation === undefined ? [] : [operation])];
  const latest = [...known, ...history].find(({ id }) => id === String(counters.operation));
  const which =
    latest === undefined
      ? ''
      : `: operation ${latest.id} (${latest.what} by ${latest.by}) is ${latest.state} now`;
  return `cluster ${name} has changed since this was planned${which}; plan again`;
}

/**
 * A held operation keeps to what it named when it began, whatever a request that continues it would allow.
 */
export function refuseLimits(
  { id, what }: Operation,
  { losable, planDigest }: Consent = {},
): string | undefined {
  return losable === undefined && planDigest === undefined
    ? undefined
    : `operation ${id} (${what}) is held and continues with the replacement, so this request cannot limit what it removes; leave out losable and planDigest, or cancel it first`;
}

export function refuseBusy(
  { name: cluster, operation, queue, lease }: ClusterState,
  mayWait: boolean,
): string | undefined {
  if (mayWait) {
    return queue.length >= queuedOperations
      ? `cluster ${cluster} has ${queue.length} operations waiting already`
      : undefined;
  }
  if (lease !== undefined) {
    // The commands have the names of what they are about: image/web, machine/web/app-1.
    const [command, ...name] = lease.to.split('/');
    return `node ${lease.nodeId} of cluster ${cluster} is leased to ${lease.to} since ${lease.since}; ask again when it is released, wait for it with --queue, or run 'heddle ${command} cancel ${name.join('/')}' to end it`;
  }
  // Operations that wait for the held one begin after whatever replaces it.
  const ahead = operation?.state === 'held' ? queue.filter(({ waits }) => waits !== true) : queue;
  if (operation?.state !== 'running' && ahead.length === 0) return undefined;
  const busy = operation?.state === 'running' ? operation : ahead[0]?.operation;
  return `cluster ${cluster} is busy with operation ${busy?.id} (${busy?.what} by ${busy?.by}); ask again when it has ended, or wait for it with --queue`;
}

export function refuseUnknownNodes(memory: Memory, ids: readonly string[]): string | undefined {
  const { name, nodes } = memory.state;
  const unknown = ids.filter((id) => !Object.hasOwn(nodes, id) && groupOfNode(memory, id) === undefined);
  return unknown.length === 0
    ? undefined
    : `cluster ${name} has no node ${unknown.join(', ')}; run 'heddle nodes ${name}' to see its nodes`;
}
