import type { DeleteNodesRequest, HoldRequest, PriorityRequest } from './contract.js';
import type { PoolNode, PoolNodeState } from './node.js';
import type { PoolState } from './state.js';

/** Why a pool refuses a message. */
export interface MessageRefusal {
  /** `NotFound`: the message names a node that does not exist. */
  readonly is: 'NotFound' | 'Invalid';
  readonly why: string;
}

const holdable: readonly PoolNodeState[] = ['in-use', 'ready', 'used'];

export function refuseHold(
  pool: PoolState,
  { nodeId, comment }: Pick<HoldRequest, 'nodeId' | 'comment'>,
): MessageRefusal | undefined {
  const node = nodeOf(pool, nodeId);
  if ('why' in node) return node;
  if (comment.trim() === '') return invalid('the comment with the reason for the hold is empty');
  if (node.slots !== undefined)
    return invalid(`${node.id} is a machine that several nodes share; hold one of the nodes`);
  return holdable.includes(node.state)
    ? undefined
    : invalid(`node ${node.id} is ${node.state}; only nodes that are ready, in use or used can be held`);
}

export function refuseEndHold(
  pool: PoolState,
  { nodeId }: { readonly nodeId: string },
): MessageRefusal | undefined {
  const node = nodeOf(pool, nodeId);
  if ('why' in node) return node;
  return node.state === 'hold' ? undefined : invalid(`node ${node.id} is ${node.state} and not held`);
}

export function refuseDeletion(
  pool: PoolState,
  { nodeIds }: Pick<DeleteNodesRequest, 'nodeIds'>,
): MessageRefusal | undefined {
  const unknown = nodeIds.find((id) => pool.nodes[id] === undefined);
  return unknown === undefined ? undefined : noNode(pool, unknown);
}

export function refusePriority(
  { name, requests }: PoolState,
  { id }: Pick<PriorityRequest, 'id'>,
): MessageRefusal | undefined {
  const request = requests[id];
  if (request === undefined) return invalid(`pool ${name} has no open request ${id}`);
  return request.state === 'requested'
    ? undefined
    : invalid(
        `request ${id} is ${request.state}; only a request that waits for its nodes has a position in the queue`,
      );
}

function nodeOf(pool: PoolState, nodeId: string): Pick<PoolNode, 'id' | 'state' | 'slots'> | MessageRefusal {
  return pool.nodes[nodeId] ?? noNode(pool, nodeId);
}

function noNode({ name }: PoolState, id: string): MessageRefusal {
  return {
    is: 'NotFound',
    why: `pool ${name} has no node ${id}; run 'heddle pool nodes ${name}' to see its nodes`,
  };
}

function invalid(why: string): MessageRefusal {
  return { is: 'Invalid', why };
}
