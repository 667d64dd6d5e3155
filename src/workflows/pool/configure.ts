import { accountRef } from '../../model/node/assigned-machine.js';
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { Json } from '../../model/json.js';
import { stableJson } from '../../model/node/payload.js';
import { configurePool } from '../../model/pool/configure.js';
import { exportedText } from '../../model/move.js';
import type { ConfigureReply, ConfigureRequest } from '../../model/pool/contract.js';
import type { PlannedPool } from '../../model/pool/spec.js';
import { schedule } from '../schedule.js';
import { noteChange, refuse } from '../entity.js';
import { checkSites } from '../plan.js';
import type { PoolMemory } from './memory.js';
import { forgetWatches } from './watch-images.js';
import { poolWorkflowId } from '../../model/names.js';
import type { PlacementCheck } from '../../model/cluster/placement-check.js';
import type { PoolState } from '../../model/pool/state.js';

/**
 * Has the configuration checked by a worker, which knows the provider accounts, and takes it over whole or
 * not at all.
 */
export async function configure(memory: PoolMemory, { spec }: ConfigureRequest): Promise<ConfigureReply> {
  const { pool } = memory;
  try {
    const plan = await schedule(
      'PLAN_POOL',
      { poolName: pool.name, spec },
      { summary: `PLAN_POOL of ${pool.name}` },
    );
    await checkSites(`pool ${pool.name}`, offerChecks(pool, plan));
    // The pool may have been exported meanwhile: its records no longer change.
    refuse(exportedText('pool', pool));
    const unchanged = textOf(pool) === textOf(plan);
    if (!unchanged) configurePool(pool, plan);
    forgetWatches(memory);
    noteChange(memory);
    return { unchanged, poolUid: pool.uid };
  } catch (error) {
    memory.refused = true;
    // Any other error of a handler would fail the workflow task again and again.
    if (error instanceof ApplicationFailure) throw error;
    if (error instanceof ActivityFailure)
      throw ApplicationFailure.nonRetryable(
        error.cause?.message ?? error.message,
        'Invalid',
        ...(error.cause instanceof ApplicationFailure ? (error.cause.details ?? []) : []),
      );
    throw error;
  }
}

function textOf({
  spec,
  placements,
  notifiedOfReuse = [],
  batchedAccounts = [],
  providerTypes = {},
}: Partial<PlannedPool> & Pick<PlannedPool, 'placements'>): string {
  return stableJson({
    spec: spec ?? null,
    placements,
    notifiedOfReuse,
    batchedAccounts,
    providerTypes,
  } as unknown as Json);
}

/** Of a configuration; the rest shows when nodes are made. */
const maxChecks = 100;

/** What the sites are to know of new offers of a configuration: those that are in force were checked. */
function offerChecks(
  { name, placements: present }: Pick<PoolState, 'name' | 'placements'>,
  { placements }: Pick<PlannedPool, 'placements'>,
): readonly { readonly site: string; readonly check: PlacementCheck }[] {
  const checks = Object.entries(placements).flatMap(([providerPool, offers]) =>
    Object.entries(offers).flatMap(([label, placement]) => {
      const { site, flavor, image, libraryImage, digest } = placement;
      if (present[providerPool]?.[label]?.digest === digest) return [];
      const check = {
        clusterId: poolWorkflowId(name),
        provider: accountRef(placement),
        path: ['providerPools', providerPool, 'labels', label],
        flavor,
        ...(libraryImage === undefined ? { image } : {}),
        values: [],
      };
      return [{ site, check }];
    }),
  );
  return checks.slice(0, maxChecks);
}
