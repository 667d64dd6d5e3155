import type { PoolNode } from '../../model/pool/node.js';
import { createSemaphore, type Semaphore } from '../permits.js';
import type { PoolMemory, Work } from './memory.js';

/** Deletions of one provider pool in flight at once. */
const deletesAtOnce = 40;
/** How long one deletion holds its permit; it is tried again later, after pauses that hold none. In ms. */
const deleteWithinMs = 2 * 60_000;

/**
 * The permits for calls that change something. Each provider pool has its own for deletions: a provider that
 * deletes nothing keeps up neither launches nor the deletions of others.
 */
export function permitsFor(
  { pool, permits, removals }: PoolMemory,
  { providerPool }: Pick<PoolNode, 'providerPool'>,
  kind: Work['kind'],
): Semaphore {
  if (kind !== 'delete' || pool.boundsDeletes !== true) return permits;
  return (removals[providerPool] ??= createSemaphore(deletesAtOnce));
}

/** The limit of one deletion; that of the action in runs of earlier builds. */
export function deleteBudgetMs({ pool }: PoolMemory): number | undefined {
  return pool.boundsDeletes === true ? deleteWithinMs : undefined;
}
