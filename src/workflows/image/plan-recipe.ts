import type { RecipeSource } from '../../model/image/spec.js';
import { emptyCluster } from '../../model/plan/facts/current.js';
import { packCurrent } from '../../model/plan/packed.js';
import type { ServedPlan } from '../../model/plan/plan.js';
import { planOf } from '../plan.js';
import { schedule } from '../schedule.js';
import type { ImageMemory } from './memory.js';

/** As a cluster of one node would be planned. */
export async function planRecipe(memory: ImageMemory, cluster: RecipeSource['cluster']): Promise<ServedPlan> {
  const reply = await schedule(
    'PLAN',
    {
      clusterName: memory.state.name,
      intent: { kind: 'apply' },
      spec: cluster,
      current: packCurrent(emptyCluster),
    },
    { summary: `PLAN of image ${memory.state.name}` },
  );
  return planOf(reply);
}
