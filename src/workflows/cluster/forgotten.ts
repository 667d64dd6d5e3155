import type { Forgotten } from '../../model/cluster/group.js';
import type { NodesState } from '../../model/cluster/work.js';
import { isLeftOut } from '../../model/node/record.js';
import type { Retried } from '../../model/plan/intent/intent.js';
import { changeNode, changeNodes, hideNode, showNode, type NodesMemory } from './memory.js';

/**
 * What of each node belongs to one operation: the next operation drops it, and restores it if it is rejected.
 */
export function forgottenNodes(nodes: NodesState['nodes']): Forgotten['nodes'] {
  return Object.fromEntries(
    Object.entries(nodes).map(([id, { runs, failure, excluded, facts }]) => {
      const { toReplace, mayRemove } = facts;
      return [id, { runs, failure, excluded, toReplace, mayRemove }];
    }),
  );
}

/**
 * Runs, failures and marks belong to one operation; nodes that the next one does not try again stay failed.
 * Returns the services of those that it does: their peers see them again.
 */
export function forgetOperation(memory: NodesMemory, retried: Retried | undefined): readonly string[] {
  const shown = Object.values(memory.state.nodes).filter(
    (node) => node.excluded !== undefined && !isLeftOut(node, retried),
  );
  for (const { nodeId } of shown) showNode(memory, nodeId);
  changeNodes(memory, (node) => {
    const { failure, facts, ...rest } = node;
    const { toReplace: _toReplace, mayRemove: _mayRemove, ...kept } = facts;
    return { ...rest, ...(isLeftOut(node, retried) ? { failure } : {}), runs: {}, facts: kept };
  });
  return [...new Set(shown.flatMap(({ services }) => services))];
}

export function restoreNodes(
  memory: NodesMemory,
  forgotten: Forgotten['nodes'],
  noteHidden: (services: readonly string[]) => void = () => undefined,
): void {
  for (const [id, { runs, failure, excluded, toReplace, mayRemove }] of Object.entries(forgotten)) {
    changeNode(memory, id, ({ facts, ...node }) => ({
      ...node,
      runs,
      failure,
      facts: { ...facts, toReplace, mayRemove },
    }));
    if (excluded === undefined) continue;
    hideNode(memory, id, { excluded });
    noteHidden(memory.state.nodes[id]?.services ?? []);
  }
}
