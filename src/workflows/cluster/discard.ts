import type { Work } from '../../model/cluster/work.js';
import { startRun, type Executor } from './executor.js';
import { dropNode, hideNode } from './memory.js';
import { conditionOf } from '../inbox.js';

/**
 * A cancelled operation leaves no machine that was asked for and never confirmed. Machines of a previous run of the cluster
 * stay: they may hold data.
 */
export async function discardIncomplete(
  executor: Executor,
  operation: string,
  isPreempted: () => boolean,
): Promise<void> {
  const { memory } = executor;
  const nodes = Object.values(memory.state.nodes);
  for (const { nodeId, facts } of nodes) {
    if (facts.machine === undefined) dropNode(memory, nodeId);
  }
  const halfMade = nodes.filter(
    ({ facts, keyUid }) => facts.machine !== undefined && facts.CONFIRM === undefined && keyUid === undefined,
  );
  if (halfMade.length === 0) return;
  for (const { nodeId } of halfMade) hideNode(memory, nodeId, 'leaving');
  const work: Work = {
    operation,
    placements: {},
    positions: {},
    doneBefore: 0,
    kinds: halfMade.map(({ nodeId, group }) => {
      const index = Number(nodeId.slice(group.length + 1));
      return {
        group,
        purpose: 'remove',
        nodes: [[index, index]],
        services: [],
        chain: [{ action: 'DELETE' }],
      };
    }),
  };
  memory.state = { ...memory.state, work };
  const run = startRun(executor, work);
  await conditionOf('operation', () => run.over() || isPreempted());
  if (!run.over()) run.cancel();
  const { work: _work, ...state } = memory.state;
  memory.state = state;
}
