import { jsonBytes, mostCarried } from '../carried.js';
import type { JsonObject } from '../json.js';
import { knownBytes } from '../node/room.js';
import { carriedBytes } from './carry.js';
import type { NodeDemand } from './request.js';
import type { PoolState } from './state.js';

/** For changes of requests that are accepted, in bytes of JSON. */
const reserve = 20_000;
/** What a request has beside its demand. */
const requestBytes = 250;
/** About what a node has with its machine, and what one that is being made has still to get. */
const nodeBytes = 700;
const comingBytes = 350;

/**
 * What nodes and requests may have together. Nodes may have been made with two different
 * placements of each label.
 */
function mostFor({ spec, placements }: Pick<PoolState, 'spec' | 'placements'>): number {
  return mostCarried - knownBytes(spec) - 2 * knownBytes(placements);
}

const remedy = 'return nodes first, or distribute the labels over several pools';

/** Why the pool cannot take these demands up; undefined if it can. */
export function refuseRequests(pool: PoolState, demands: readonly NodeDemand[]): string | undefined {
  const bytes = carriedBytes(pool) + jsonBytes(demands) + requestBytes * demands.length;
  const room = mostFor(pool) - reserve;
  return bytes <= room
    ? undefined
    : `pool ${pool.name} would have ${bytes} bytes of nodes and requests as JSON; the limit is ${room}; ${remedy}`;
}

/** How many more nodes the pool has room for. */
export function nodesLeft(pool: PoolState): number {
  const coming = Object.values(pool.nodes).filter(({ state }) => state === 'building').length;
  return Math.max(0, Math.floor((mostFor(pool) - carriedBytes(pool) - coming * comingBytes) / nodeBytes));
}

/** Why nothing is created at present. */
export const fullText = `the state of the pool has reached its limit of ${mostCarried} bytes, so no more nodes fit; ${remedy}`;

/** Why the pool cannot keep this payload of a node; undefined if it can. */
export function lacksRoom(pool: PoolState, nodeId: string, payload: JsonObject): string | undefined {
  const own = jsonBytes(payload);
  const others = carriedBytes(pool) - knownBytes(pool.nodes[nodeId]?.machine.payload);
  const room = mostFor(pool);
  return others + own <= room
    ? undefined
    : `the node's payload would have ${own} bytes, and ${others} of the ${room} bytes for nodes and requests of pool ${pool.name} are taken; ${remedy}`;
}
