import type { NodeDemand } from './request.js';
import type { PoolState } from './state.js';

/** Open requests of one pool: its state must fit into one message. */
const maxRequests = 5_000;
/** Nodes of one request. */
export const maxNodesOfRequest = 100;
const maxAttributes = 2_048;

/** Why a demand is refused; undefined if it is accepted. Its shape was checked when the message arrived. */
export function refuseDemand(pool: PoolState, demand: NodeDemand): string | undefined {
  if (pool.spec === undefined) return `pool ${pool.name} is not configured yet; run 'heddle pool apply FILE'`;
  if (pool.leaving !== undefined) return `pool ${pool.name} is being deleted`;
  const { id, labels } = demand;
  if (pool.requests[id] !== undefined) return undefined;
  const { labels: known } = pool.spec;
  const unknown = labels.find((label) => !Object.hasOwn(known, label));
  if (unknown !== undefined) {
    const labelsText = Object.keys(known).join(', ');
    return `pool ${pool.name} has no label ${unknown === '' ? '""' : unknown}; its labels are ${labelsText}`;
  }
  const wrong = refuseOptions(pool, demand);
  if (wrong !== undefined) return wrong;
  const open = Object.keys(pool.requests).length;
  return open < maxRequests
    ? undefined
    : `pool ${pool.name} has ${open} open requests; the limit is ${maxRequests}`;
}

function refuseOptions(
  { spec }: PoolState,
  { attributes, providerPool, tags, labels }: NodeDemand,
): string | undefined {
  if (attributes !== undefined && JSON.stringify(attributes).length > maxAttributes)
    return `attributes has more than ${maxAttributes} characters of JSON`;
  if (tags !== undefined && JSON.stringify(tags).length > maxAttributes)
    return `tags has more than ${maxAttributes} characters of JSON`;
  if (tags !== undefined && labels.length !== 1) return 'a request with tags must have exactly one label';
  if (providerPool === undefined) return undefined;
  const known = Object.keys(spec?.providerPools ?? {});
  return known.includes(providerPool)
    ? undefined
    : `provider pool ${providerPool} does not exist; existing ones: ${known.join(', ')}`;
}
