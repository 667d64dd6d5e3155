import type { JsonObject } from '../../model/json.js';
import type { ProbedNode } from '../../model/node/probe.js';
import { machineKey, tagNames } from '../../model/names.js';
import type { MachineInput } from '../../plugins/contract.js';

/** A node's machine, as its provider is asked for it. */
export function machineInput(
  installation: string,
  clusterId: string,
  node: ProbedNode,
  fields: JsonObject,
): MachineInput {
  const key = keyOf(node);
  const id = node.config['providerid'];
  const tags = {
    [tagNames.installation]: installation,
    [tagNames.key]: key,
    [tagNames.cluster]: clusterId,
    [tagNames.node]: node.nodeId,
    ...(node.placement === undefined ? {} : { [tagNames.placement]: node.placement }),
  };
  return { key, tags, fields, ...(typeof id === 'string' ? { providerid: id } : {}) };
}

export function keyOf({
  keyUid,
  nodeId,
  incarnation,
}: Pick<ProbedNode, 'keyUid' | 'nodeId' | 'incarnation'>): string {
  return machineKey(keyUid, nodeId, incarnation);
}
