import { movedBy, type Records } from '../move.js';
import { jsonBytes, mostCarried } from '../carried.js';
import { packPool, type CarriedPool } from './carry.js';
import type { PoolState } from './state.js';

export type PoolRecords = Records<CarriedPool>;

const shownClusters = 5;

/** Why a pool cannot be exported now; undefined when it can. An exported one may be exported again. */
export function refuseExport(pool: PoolState): string | undefined {
  const { name, spec, leaving, exported, requests } = pool;
  if (exported !== undefined) return undefined;
  if (spec === undefined) return `pool ${name} is not configured yet`;
  if (leaving !== undefined) return `pool ${name} is being deleted`;
  const bound = boundMachines(pool);
  if (bound !== undefined) return `pool ${name} cannot be exported: ${bound}`;
  const clusters = [
    ...new Set(Object.values(requests).flatMap(({ tags, id }) => (tags === undefined ? [] : [id]))),
  ];
  if (clusters.length > 0)
    return `pool ${name} cannot be exported: clusters of this server use its nodes (${clusters.slice(0, shownClusters).join(', ')}${clusters.length > shownClusters ? ', ...' : ''}); delete them first`;
  const size = jsonBytes(packPool(pool));
  return size <= mostCarried
    ? undefined
    : `pool ${name} is too large to be exported (${size} of ${mostCarried} bytes); return nodes first`;
}

/**
 * Why its machines cannot move: the server records who has them, or that is not known. A
 * provider pool that is no longer configured may still have nodes.
 */
function boundMachines({ placements, providerTypes = {}, nodes }: PoolState): string | undefined {
  const places: (readonly [string, string])[] = [
    ...Object.entries(placements).flatMap(([name, offers]) =>
      Object.values(offers).map(({ type }) => [name, type] as const),
    ),
    ...Object.values(nodes).flatMap(({ providerPool, machine: { placement } }) =>
      placement === undefined ? [] : [[providerPool, placement.type] as const],
    ),
  ];
  for (const [name, type] of places) {
    if (!Object.hasOwn(providerTypes, type))
      return `it is unknown whether machines of provider pool ${name} (type ${type}) can move; apply the configuration again, or delete nodes that it no longer has`;
    if (providerTypes[type]?.claims === true)
      return `this server records the allocation of machines of provider pool ${name}`;
  }
  return undefined;
}

/**
 * What a restored pool starts with. Leases begin again, because requesters could not renew them meanwhile.
 */
export function restoredPool(records: PoolRecords, now: number): CarriedPool {
  const { exported: _exported, library: _library, ...pool } = records.carried;
  return {
    ...pool,
    ...movedBy(records, now),
    // The accounts are to be asked anew, from here.
    paused: {},
    quotas: {},
    quotasAskedAt: {},
    awaitsQuota: {},
    resting: {},
    checkedAt: {},
    requests: Object.fromEntries(
      Object.entries(pool.requests).map(([id, request]) => [
        id,
        {
          ...request,
          ...(request.expiresAt === undefined ? {} : { expiresAt: now + request.leaseMs }),
          ...(request.heldUntil === undefined ? {} : { heldUntil: now + (request.heldMs ?? 0) }),
        },
      ]),
    ),
  };
}
