import type { JsonObject } from '../json.js';
import type { Placement } from './placement.js';
import type { AccountRef, ProbedNode } from './probe.js';
import type { NodeState } from './state.js';
import type { TaskRequest } from './task-request.js';

/** A machine that someone has: a node of a cluster or of a pool, a standalone machine, a build. */
export interface AssignedMachine {
  /** Its owner, as its tags have it. */
  readonly clusterId: string;
  /** The uid in its key. */
  readonly uid: string;
  readonly nodeId: string;
  readonly incarnation: number;
  readonly payload: JsonObject;
  readonly placement: Placement;
}

export function accountRef({
  provider,
  type,
  fields,
}: Pick<Placement, 'provider' | 'type' | 'fields'>): AccountRef {
  return { name: provider, type, fields };
}

/**
 * @param uid of the workflow that has the node: the one in its machine's key unless an earlier run made that.
 */
export function probedNode(
  uid: string,
  {
    nodeId,
    incarnation,
    keyUid = uid,
    payload,
  }: Pick<NodeState, 'nodeId' | 'incarnation' | 'keyUid' | 'payload'>,
): ProbedNode {
  return { nodeId, incarnation, keyUid, config: payload };
}

/** The machine that a task is about. */
export function nodeOfTask({
  nodeId,
  incarnation,
  clusterUid,
  keyUid = clusterUid,
  placement,
  config,
}: TaskRequest): ProbedNode {
  return { nodeId, incarnation, keyUid, placement, config };
}
