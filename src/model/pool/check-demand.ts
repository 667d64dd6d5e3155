import { isJsonObject } from '../json.js';
import type { NodeDemand } from './request.js';
import type { PoolState } from './state.js';

/** Open requests of one pool: its state must fit into one message. */
export const maxRequests = 5_000;
/** Nodes of one request. */
export const maxNodesOfRequest = 100;
const minLeaseMs = 1_000;
const maxLeaseMs = 30 * 24 * 60 * 60_000;
const maxAttributes = 2_048;
const maxName = 200;

/** Why a demand is not taken; undefined where it is. It may be anything: workflows check what reaches them themselves. */
export function refuseDemand(pool: PoolState, demand: unknown): string | undefined {
  if (pool.spec === undefined) return `pool ${pool.name} is not configured yet; 'heddle pool apply FILE' does that`;
  if (pool.leaving !== undefined) return `pool ${pool.name} is being deleted`;
  if (!isJsonObject(demand)) return 'a request is an object: {id, labels, requester}';
  const { id, labels, requester } = demand;
  if (!isName(id)) return `a request's id is a text of 1 to ${maxName} characters`;
  if (pool.requests[id] !== undefined) return undefined;
  if (!isName(requester)) return `requester is a text of 1 to ${maxName} characters`;
  if (!Array.isArray(labels) || labels.length === 0 || labels.length > maxNodesOfRequest) return `labels is a list of 1 to ${maxNodesOfRequest} labels`;
  const { labels: known } = pool.spec;
  const unknown: unknown = labels.find((label) => typeof label !== 'string' || !Object.hasOwn(known, label));
  if (unknown !== undefined) return `pool ${pool.name} has no label ${typeof unknown === 'string' && unknown !== '' ? unknown : JSON.stringify(unknown)}; its labels are ${Object.keys(known).join(', ')}`;
  const wrong = refuseOptions(pool, demand as unknown as Partial<NodeDemand>);
  if (wrong !== undefined) return wrong;
  const open = Object.keys(pool.requests).length;
  return open < maxRequests ? undefined : `pool ${pool.name} has ${open} open requests; ${maxRequests} is the limit of a pool`;
}

function refuseOptions({ spec }: PoolState, { priority, leaseMs, attributes, tenant, providerPool, tags, labels }: Partial<NodeDemand>): string | undefined {
  if (priority !== undefined && !(Number.isInteger(priority) && priority >= 0 && priority <= 1e6)) return 'priority is a whole number from 0 to 1000000; low comes first';
  if (leaseMs !== undefined && !(Number.isInteger(leaseMs) && leaseMs >= minLeaseMs && leaseMs <= maxLeaseMs)) return 'the lease is 1 second to 30 days';
  if (attributes !== undefined && (!isJsonObject(attributes) || JSON.stringify(attributes).length > maxAttributes)) return `attributes is an object of at most ${maxAttributes} characters of JSON`;
  if (tags !== undefined && !areTags(tags)) return `tags is an object of texts, of at most ${maxAttributes} characters of JSON`;
  if (tags !== undefined && labels?.length !== 1) return 'tags are those of one machine, so it asks for one label';
  if (tenant !== undefined && !isName(tenant)) return `tenant is a text of 1 to ${maxName} characters`;
  if (providerPool === undefined) return undefined;
  const known = Object.keys(spec?.providerPools ?? {});
  return known.includes(providerPool) ? undefined : `there is no provider pool ${providerPool}; there are ${known.join(', ')}`;
}

function areTags(tags: unknown): boolean {
  return isJsonObject(tags) && Object.values(tags).every((value) => typeof value === 'string') && JSON.stringify(tags).length <= maxAttributes;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= maxName;
}
