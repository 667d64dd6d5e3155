import type { Discard } from '../../model/cluster/operation.js';
import type { Work } from '../../model/cluster/work.js';
import type { NodeState } from '../../model/node/state.js';
import { runKey } from '../../model/node/run.js';
import { startRun, type Executor } from './executor.js';
import { changeNodes, dropNode, hideNode } from './memory.js';
import { conditionOf } from '../inbox.js';
import { change } from '../entity.js';

/**
 * A cancelled operation leaves no machine that it created and that was never confirmed. One that cannot be
 * deleted keeps its node, with the failure of DELETE; other failures end with the operation.
 */
export async function discardIncomplete(
  executor: Executor,
  { operation, nodes }: Discard,
  isPreempted: () => boolean,
): Promise<void> {
  const { memory } = executor;
  const isInScope = (nodeId: string): boolean => nodes?.includes(nodeId) !== false;
  for (const { nodeId, facts } of Object.values(memory.state.nodes)) {
    if (facts.machine === undefined && isInScope(nodeId)) dropNode(memory, nodeId);
  }
  const halfMade = Object.values(memory.state.nodes).filter(
    (node) => isHalfMade(node) && isInScope(node.nodeId),
  );
  changeNodes(memory, (node) => {
    const { failure, excluded, ...rest } = node;
    if (halfMade.includes(node)) return rest;
    return failure?.action === 'DELETE' || excluded !== undefined ? node : rest;
  });
  if (halfMade.length === 0) return;
  for (const { nodeId } of halfMade) hideNode(memory, nodeId, { leaving: true });
  executor.tasks({ total: halfMade.length });
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
  change(memory, { work });
  const run = startRun(executor, work);
  memory.run = run;
  await conditionOf('operation', () => run.over() || isPreempted());
  if (!run.over()) run.cancel();
  delete memory.run;
  change(memory, { work: undefined });
}

/**
 * Machines of a previous run of the cluster may hold data, and those of earlier operations are not this
 * one's.
 */
function isHalfMade({ facts, keyUid, runs, createBegun }: NodeState): boolean {
  if (facts.machine === undefined || facts.CONFIRM === true || keyUid !== undefined) return false;
  const isAskedFor = createBegun === true || facts.CREATE === true;
  return !isAskedFor || runs[runKey({ action: 'CREATE' })] !== undefined;
}
