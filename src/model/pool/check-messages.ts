import { isJsonObject } from '../json.js';
import type { PoolNode, PoolNodeState } from './node.js';
import type { PoolState } from './state.js';

/** A message that a pool does not take. */
export interface MessageRefusal {
  /** `NotFound`: it names a node that is not there. */
  readonly is: 'NotFound' | 'Invalid';
  readonly why: string;
}

const maxComment = 500;
const maxHoldMs = 30 * 24 * 60 * 60_000;
const maxId = 200;
const holdable: readonly PoolNodeState[] = ['in-use', 'ready', 'used'];

/*
 * Whoever knows the names of the messages may send anything, and a handler that fails on it would fail the workflow task, again and
 * again. So what is not as it should be is refused before.
 */

export function refuseEnd(request: unknown): MessageRefusal | undefined {
  if (!isJsonObject(request) || !areIds(request['ids'])) return invalid('a list of requests is expected: {ids: [...], how: "returned"}');
  return request['how'] === 'returned' || request['how'] === 'cancelled' ? undefined : invalid('how is "returned" or "cancelled"');
}

export function refuseIds(ids: unknown): MessageRefusal | undefined {
  return areIds(ids) ? undefined : invalid('a list of ids of requests is expected');
}

export function refuseHold(pool: PoolState, request: unknown): MessageRefusal | undefined {
  const node = nodeOf(pool, request);
  if ('why' in node || !isJsonObject(request)) return 'why' in node ? node : undefined;
  const { by, comment, forMs } = request;
  if (!isText(by)) return invalid(`by, who holds it, is a text of 1 to ${maxId} characters`);
  if (typeof comment !== 'string' || comment.trim() === '' || comment.length > maxComment) return invalid(`the comment, why it is held, is a text of 1 to ${maxComment} characters`);
  if (forMs !== undefined && !(Number.isInteger(forMs) && Number(forMs) >= 1 && Number(forMs) <= maxHoldMs)) return invalid('a hold is for 1 ms to 30 days');
  if (node.slots !== undefined) return invalid(`${node.id} is a machine of several nodes; hold one of them`);
  return holdable.includes(node.state) ? undefined : invalid(`node ${node.id} is ${node.state}; one that is ready, in use or used can be held`);
}

export function refuseEndHold(pool: PoolState, request: unknown): MessageRefusal | undefined {
  const node = nodeOf(pool, request);
  if ('why' in node) return node;
  return node.state === 'hold' ? undefined : invalid(`node ${node.id} is ${node.state} and not held`);
}

export function refuseDeletion(pool: PoolState, request: unknown): MessageRefusal | undefined {
  if (!isJsonObject(request) || !areIds(request['nodeIds'])) return invalid('a list of nodes is expected: {nodeIds: [...], by}');
  if (!isText(request['by'])) return invalid(`by, who deletes them, is a text of 1 to ${maxId} characters`);
  const unknown = request['nodeIds'].find((id) => pool.nodes[id] === undefined);
  return unknown === undefined ? undefined : noNode(pool, unknown);
}

export function refuseLeaving(request: unknown): MessageRefusal | undefined {
  return isJsonObject(request) && isText(request['by']) ? undefined : invalid(`by, who deletes the pool, is a text of 1 to ${maxId} characters`);
}

function nodeOf(pool: PoolState, request: unknown): Pick<PoolNode, 'id' | 'state' | 'slots'> | MessageRefusal {
  if (!isJsonObject(request) || !isText(request['nodeId'])) return invalid('the id of a node is expected: {nodeId}');
  const node = pool.nodes[request['nodeId']];
  return node === undefined ? noNode(pool, request['nodeId']) : { id: node.id, state: node.state, ...(node.slots === undefined ? {} : { slots: node.slots }) };
}

function noNode({ name }: PoolState, id: string): MessageRefusal {
  return { is: 'NotFound', why: `pool ${name} has no node ${id}; 'heddle pool nodes ${name}' shows those it has` };
}

function invalid(why: string): MessageRefusal {
  return { is: 'Invalid', why };
}

function areIds(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((id) => typeof id === 'string');
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxId;
}
