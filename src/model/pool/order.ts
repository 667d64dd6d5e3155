import type { NodeRequest } from './request.js';
import type { PoolState } from './state.js';

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
