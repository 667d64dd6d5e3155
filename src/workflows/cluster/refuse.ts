import { queuedOperations } from '../../model/operation.js';
import type { ClusterState } from '../../model/state.js';
import { groupOfNode } from './groups.js';
import type { Memory } from './memory.js';

/** What a cluster does not take, in words. */
export function refuseDeleting({ name, operation, queue }: ClusterState, then: string): void {
  const deleting = operation?.kind === 'delete' || queue.some((queued) => queued.operation.kind === 'delete');
  if (deleting) throw new Error(`cluster ${name} is being deleted; ${then}`);
}

export function refuseBusy({ name: cluster, operation, queue, lent }: ClusterState, mayWait: boolean): void {
  if (mayWait) {
    if (queue.length >= queuedOperations)
      throw new Error(`cluster ${cluster} has ${queue.length} operations waiting already`);
    return;
  }
  if (lent !== undefined) {
    // The commands have the names of what they are about: image/web, machine/web/app-1.
    const [command, ...name] = lent.to.split('/');
    throw new Error(
      `node ${lent.nodeId} of cluster ${cluster} is lent to ${lent.to} since ${lent.since}; ask again when it is given back, or wait for it with --queue ('heddle ${command} cancel ${name.join('/')}' ends it)`,
    );
  }
  if (operation?.state !== 'running' && queue.length === 0) return;
  const busy = operation ?? queue[0]?.operation;
  throw new Error(
    `cluster ${cluster} is busy with operation ${busy?.id} (${busy?.what} by ${busy?.by}); ask again when it has ended, or wait for it with --queue`,
  );
}

export function refuseUnknownNodes(memory: Memory, ids: readonly string[]): void {
  const { name, nodes } = memory.state;
  const unknown = ids.filter((id) => !Object.hasOwn(nodes, id) && groupOfNode(memory, id) === undefined);
  if (unknown.length > 0)
    throw new Error(
      `cluster ${name} has no node ${unknown.join(', ')}; 'heddle nodes ${name}' shows those it has`,
    );
}
