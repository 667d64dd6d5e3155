import type { Forgotten } from '../../model/cluster/group.js';
import type { NodesState } from '../../model/cluster/work.js';
import { changeNode, type NodesMemory } from './memory.js';

/** What belongs to one operation, of each node: the next one drops it, and gives it back if it is rejected. */
export function forgottenNodes(nodes: NodesState['nodes']): Forgotten['nodes'] {
  return Object.fromEntries(
    Object.entries(nodes).map(([id, { runs, failure, excluded, facts }]) => {
      const { toReplace, mayRemove } = facts;
      return [id, { runs, failure, excluded, toReplace, mayRemove }];
    }),
  );
}

export function giveBack(
  memory: NodesMemory,
  forgotten: Forgotten['nodes'],
  exclude: (nodeId: string) => void,
): void {
  for (const [id, { runs, failure, excluded, toReplace, mayRemove }] of Object.entries(forgotten)) {
    changeNode(memory, id, ({ facts, ...node }) => ({
      ...node,
      runs,
      failure,
      facts: { ...facts, toReplace, mayRemove },
    }));
    if (excluded === true) exclude(id);
  }
}
