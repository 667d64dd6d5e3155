import type { RecipeSource } from '../../model/image/spec.js';
import { emptyCluster } from '../../model/plan/current.js';
import type { ServedPlan } from '../../model/plan/plan.js';
import { runPlan } from '../run-task.js';
import type { ImageMemory } from './memory.js';

/** As a cluster of one node would be planned. */
export async function planRecipe(memory: ImageMemory, cluster: RecipeSource['cluster']): Promise<ServedPlan> {
  return runPlan<ServedPlan>(
    { clusterName: memory.state.name, intent: { kind: 'apply' }, spec: cluster, current: emptyCluster },
    `PLAN of image ${memory.state.name}`,
  );
}
