import { abandonedText } from '../../model/node/abandon.js';
import { withoutService } from '../../model/node/record.js';
import type { NodeState, ServiceFacts } from '../../model/node/state.js';
import type { Step } from '../../model/plan/plan.js';
import { outlinesOf } from '../../model/plan/order/dependencies.js';
import { workToRemove } from '../../model/plan/work/service-work.js';
import type { ServiceSpec } from '../../model/cluster/spec.js';
import { condition } from '../inbox.js';
import { passOver, type Executor, type Run } from './executor.js';
import { changeNodes, dropNode, hideNode, type NodesMemory } from './memory.js';

/* What a cluster and its groups do alike with the nodes that they carry. */

/** Longest wait, in ms, for tasks that were cancelled. CREATEs are waited for without limit. */
const haltMs = 60_000;

/** Ends the work under way early. A CREATE is waited for without limit: its machine must be known. */
export async function cancelRun(run: Run): Promise<void> {
  run.stop();
  run.cancel();
  await condition(() => run.over() || !run.creating());
  await condition(() => run.over(), haltMs);
  run.abandon();
}

/** Gives up a node whose machine cannot be deleted. */
export function abandonNode(executor: Executor, node: NodeState, by: string): void {
  const { memory } = executor;
  memory.run?.forget(node.nodeId);
  executor.abandoned(abandonedText(node, by));
  dropNode(memory, node.nodeId);
}

/**
 * The operation goes on without a node that failed: it blocks no other node, and its peers no longer see it.
 */
export function excludeNode(
  executor: Executor,
  nodeId: string,
  {
    operation,
    remaining,
  }: { readonly operation: string; readonly remaining: readonly Pick<Step, 'counts' | 'batchSlot'>[] },
): void {
  const { memory } = executor;
  hideNode(memory, nodeId, { excluded: operation });
  executor.announced(memory.state.nodes[nodeId]?.services ?? []);
  passOver(executor, nodeId, remaining);
}

/**
 * Forgets services that nodes no longer want and from which nothing is left to take off. What is left does
 * not depend on how an operation ended, so that the next one takes it off.
 * @param services Those of the cluster and those that it no longer has.
 */
export function forgetRemoved(memory: NodesMemory, services: Readonly<Record<string, ServiceSpec>>): void {
  const outlines = outlinesOf(services);
  const isLeft = (name: string, facts: ServiceFacts): boolean => {
    const outline = outlines[name];
    return outline !== undefined && workToRemove(outline, facts).length > 0;
  };
  changeNodes(memory, (node) =>
    Object.entries(node.facts.services)
      .filter(([name, facts]) => !node.services.includes(name) && !isLeft(name, facts))
      .reduce((before, [name]) => withoutService(before, name), node),
  );
}
