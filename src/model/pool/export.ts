import { mostCarried, packPool, type CarriedPool } from './carry.js';
import type { Exported, PoolState } from './state.js';

/**
 * A pool's records for a move to another server or namespace. They contain credentials of nodes.
 */
export interface PoolRecords {
  readonly version: 1;
  readonly exported: Exported;
  readonly pool: CarriedPool;
}

/** The records, once nothing is in flight any more; until then the nodes whose tasks have not ended. */
export type RecordsReply = { readonly records: PoolRecords } | { readonly awaits: readonly string[] };

/** Providers that keep at the server who has which machine: their machines cannot move. */
const claimingTypes = ['ipmi', 'redfish', 'service', 'static'];
const shownClusters = 5;

/** Why a pool cannot be exported now; undefined when it can. An exported one may be exported again. */
export function refuseExport(pool: PoolState): string | undefined {
  const { name, spec, leaving, exported, placements, requests } = pool;
  if (exported !== undefined) return undefined;
  if (spec === undefined) return `pool ${name} is not configured yet`;
  if (leaving !== undefined) return `pool ${name} is being deleted`;
  const claiming = Object.entries(placements).find(([, offers]) =>
    Object.values(offers).some(({ type }) => claimingTypes.includes(type)),
  );
  if (claiming !== undefined)
    return `pool ${name} cannot be exported: this server records who has which machine of provider pool ${claiming[0]}`;
  const clusters = [
    ...new Set(Object.values(requests).flatMap(({ tags, id }) => (tags === undefined ? [] : [id]))),
  ];
  if (clusters.length > 0)
    return `pool ${name} cannot be exported: machines of clusters of this server are its nodes (${clusters.slice(0, shownClusters).join(', ')}${clusters.length > shownClusters ? ', ...' : ''}); delete them first`;
  const size = JSON.stringify(packPool(pool)).length;
  return size <= mostCarried
    ? undefined
    : `pool ${name} is too large to be exported (${size} of ${mostCarried} bytes); return nodes first`;
}

/** Why an exported pool takes no message; undefined for any other pool. */
export function exportedText({ name, exported }: PoolState): string | undefined {
  return exported === undefined
    ? undefined
    : `pool ${name} was exported by ${exported.by}: its nodes belong to wherever it was restored; 'heddle pool export ${name} --cancel' has it go on here`;
}

/** Why a pool cannot be forgotten with its machines; undefined if they belong elsewhere. */
export function refuseAbandon({ name, exported }: PoolState): string | undefined {
  return exported === undefined
    ? `pool ${name} is not exported, so its machines belong to it; without --abandon it is deleted with them`
    : undefined;
}

/** What a restored pool starts with. Leases begin again, because requesters could not renew them meanwhile. */
export function restoredPool({ exported, pool }: PoolRecords, now: number): CarriedPool {
  const { exported: _exported, library: _library, ...rest } = pool;
  return {
    ...rest,
    restored: { from: exported.id, at: now },
    // The accounts are to be asked anew, from here.
    paused: {},
    quotas: {},
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
