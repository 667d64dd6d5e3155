import type { NodeRequest } from './request.js';
import type { PoolState } from './state.js';

/** Requests that wait, the next one first. */
export function inOrder(pool: PoolState): readonly NodeRequest[] {
  return Object.values(pool.requests).filter(({ state }) => state === 'requested')
    .toSorted((one, other) => one.priority - other.priority || one.seq - other.seq);
}
