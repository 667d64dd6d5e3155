import { deleteNode } from './allocate.js';
import { forgetUnused } from './library.js';
import { changeRequest, type PoolState } from './state.js';
import type { PlannedPool } from './spec.js';

/**
 * Applies a checked configuration. Nodes in use stay; others without a place in it are deleted at the next
 * step.
 */
export function configurePool(
  pool: PoolState,
  { spec, placements, notifiedOfReuse = [], batchedAccounts = [], providerTypes }: PlannedPool,
): void {
  pool.spec = spec;
  pool.placements = placements;
  if (notifiedOfReuse.length > 0) pool.notifiedOfReuse = notifiedOfReuse;
  else delete pool.notifiedOfReuse;
  forgetUnused(pool);
  if (batchedAccounts.length > 0) pool.batchedAccounts = batchedAccounts;
  else delete pool.batchedAccounts;
  pool.providerTypes = providerTypes;
  // What a provider pool could not do before, it may be able to do now.
  for (const request of Object.values(pool.requests)) {
    if (request.state === 'requested' && Object.keys(request.declined).length > 0)
      changeRequest(pool, request.id, (before) => ({ ...before, declined: {}, failures: 0 }));
  }
  delete pool.failures;
  delete pool.refusals;
  for (const record of [pool.resting, pool.quotas, pool.quotasAskedAt, pool.paused])
    for (const key of Object.keys(record)) delete record[key];
}

/** Declines all requests and deletes all nodes, those in use too. */
export function emptyPool(pool: PoolState, by: string, now: number): void {
  pool.leaving ??= { by, at: now };
  for (const request of Object.values(pool.requests)) {
    if (request.state !== 'fulfilled')
      changeRequest(pool, request.id, (before) => ({
        ...before,
        state: 'failed',
        since: now,
        nodes: [],
        waits: `pool ${pool.name} is being deleted`,
      }));
  }
  for (const id of Object.keys(pool.nodes))
    if (pool.nodes[id] !== undefined) deleteNode(pool, id, `pool ${pool.name} is being deleted`, now);
}
