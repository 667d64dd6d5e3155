import type { NodeState } from '../../model/node/state.js';
import { createSemaphore, type Semaphore } from '../permits.js';
import type { PoolMemory, Work } from './memory.js';

/** Deletions of one provider pool in flight at once. */
const deletesAtOnce = 40;

/**
 * The permits for calls that change something. Each provider pool has its own for deletions: a provider that
 * deletes nothing keeps up neither launches nor the deletions of others.
 */
export function permitsFor(
  { permits, removals }: PoolMemory,
  providerPool: string,
  kind: Work['kind'],
): Semaphore {
  if (kind !== 'delete') return permits;
  return (removals[providerPool] ??= createSemaphore(deletesAtOnce));
}

/**
 * How long one deletion holds its permit, in ms; it is tried again later, after pauses that hold
 * none. Undefined: as long as the action may take. That holds for a machine without an id, because
 * DELETE waits until an earlier CREATE must have become visible before it looks for the machine.
 */
export function deleteBudgetMs(
  { pool }: Pick<PoolMemory, 'pool'>,
  { payload, placement }: Pick<NodeState, 'payload' | 'placement'>,
): number | undefined {
  if (typeof payload['providerid'] !== 'string') return undefined;
  return pool.providerTypes?.[placement?.type ?? '']?.deleteWithinMs;
}
