import { bounds } from '../bounds.js';
import { jsonBytes } from '../carried.js';
import type { JsonObject } from '../json.js';
import type { FailureRecord } from './failure.js';
import type { NodeState } from './state.js';

/** Values are replaced and never changed, so each is measured once. */
const measured = new WeakMap<object, number>();

export function knownBytes(value: object | undefined): number {
  if (value === undefined) return 0;
  const bytes = measured.get(value) ?? jsonBytes(value);
  measured.set(value, bytes);
  return bytes;
}

/**
 * Services of the nodes of one workflow, each counted on each node. New nodes beyond that get a
 * workflow of their own.
 */
export const mostServices = 2_000;
/** Facts of a service on a node, in bytes of JSON, with a part of what else is known of the node. */
const factBytes = mostServices * 200;

/**
 * What the payloads, failures and different placements of the nodes of one workflow may have,
 * in bytes of JSON.
 */
export const payloadBounds = {
  cluster: bounds.cluster.nodes.most - factBytes,
  /** It has more nodes with less on each. */
  group: bounds.group.nodes.most - factBytes - 120_000,
} as const;

type Kept = Pick<NodeState, 'nodeId' | 'payload' | 'failure' | 'placement' | 'facts'>;

/** Why a workflow cannot keep a payload beside its other nodes; undefined if it can. */
export function lacksRoom(
  nodes: Readonly<Record<string, Kept>>,
  nodeId: string,
  payload: JsonObject,
  most: number,
): string | undefined {
  const placements = new Map<string, number>();
  let others = 0;
  for (const node of Object.values(nodes)) {
    others += knownBytes(node.failure) + (node.nodeId === nodeId ? 0 : knownBytes(node.payload));
    placements.set(node.facts.machine ?? '', knownBytes(node.placement));
  }
  for (const bytes of placements.values()) others += bytes;
  const own = jsonBytes(payload);
  return others + own <= most
    ? undefined
    : `the node's payload would have ${own} bytes, and ${others} of the ${most} bytes for all nodes of its workflow are ` +
        'taken; have plugins return less, give providers fewer fields, or divide the nodes among several clusters';
}

/** What a failure always leaves. */
const leanMessage = 500;

/** Without the ends of its outputs, which its log has, and with the beginning of its message. */
export function leanFailure({ stdout: _stdout, stderr: _stderr, ...failure }: FailureRecord): FailureRecord {
  return { ...failure, message: failure.message.slice(0, leanMessage) };
}
