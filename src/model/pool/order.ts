import type { NodeRequest } from './request.js';
import { changeRequest, type PoolState } from './state.js';

/** Requests that wait, the next one first. */
export function inOrder(pool: PoolState): readonly NodeRequest[] {
  return Object.values(pool.requests)
    .filter(({ state }) => state === 'requested')
    .toSorted((one, other) => one.priority - other.priority || one.seq - other.seq);
}

/** Requests of one signature are alike in all that admission asks. A tenant is any text. */
export function signatureOf({ labels, tenant, prefers = '', declined }: NodeRequest): string {
  return [labels.join(','), prefers, ...Object.keys(declined), tenant === undefined ? '' : `|${tenant}`].join(
    '|',
  );
}

/**
 * Why requests wait. Of equal waiting requests admission considers the first; the others wait for the same.
 */
export function reasonsBySignature({ requests }: PoolState): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  for (const request of Object.values(requests))
    if (request.state === 'requested' && request.waits !== undefined)
      reasons.set(signatureOf(request), request.waits);
  return reasons;
}

/** Moves a waiting request in the queue. Requests that have their nodes already stay as they are. */
export function changePriority(pool: PoolState, id: string, priority: number): void {
  if (pool.requests[id]?.state === 'requested')
    changeRequest(pool, id, (request) => ({ ...request, priority }));
}
