import type { NodeState } from '../model/node/state.js';
import { chunksOf } from '../model/chunks.js';

/** Nodes per activity: its input stays small, and a slow provider gets few calls. */
export const nodesPerProbe = 25;

/** Nodes that one PROBE_NODES each looks at: those of one account with the same fields. */
export function probeBatches<Node>(
  nodes: readonly Node[],
  machineOf: (node: Node) => Pick<NodeState, 'placement'>,
): readonly (readonly Node[])[] {
  const alike = new Map<string, Node[]>();
  for (const node of nodes) {
    const { site, provider, fields } = machineOf(node).placement ?? {};
    const key = JSON.stringify([site, provider, fields]);
    const others = alike.get(key);
    if (others === undefined) alike.set(key, [node]);
    else others.push(node);
  }
  return [...alike.values()].flatMap((all) => chunksOf(all, nodesPerProbe));
}
