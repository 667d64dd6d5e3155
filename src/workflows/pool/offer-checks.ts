import { poolWorkflowId } from '../../model/names.js';
import type { PlacementCheck } from '../../model/cluster/placement-check.js';
import type { PlannedPool } from '../../model/pool/spec.js';
import type { PoolState } from '../../model/pool/state.js';

/** Of a configuration; the rest shows when nodes are made. */
const maxChecks = 100;

/** What the sites are to know of new offers of a configuration: those that are in force were checked. */
export function offerChecks(
  { name, placements: present }: Pick<PoolState, 'name' | 'placements'>,
  { placements }: Pick<PlannedPool, 'placements'>,
): readonly { readonly site: string; readonly check: PlacementCheck }[] {
  const checks = Object.entries(placements).flatMap(([providerPool, offers]) =>
    Object.entries(offers).flatMap(([label, placement]) => {
      const { site, provider, type, fields, flavor, image, libraryImage, digest } = placement;
      if (present[providerPool]?.[label]?.digest === digest) return [];
      const check = {
        clusterId: poolWorkflowId(name),
        provider: { name: provider, type, fields },
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
