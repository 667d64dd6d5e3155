import { markForReplacement } from '../model/plan/current.js';
import type { Plan } from '../model/plan/plan.js';
import type { PlanRequest } from '../model/cluster/messages.js';
import { schedule } from './schedule.js';

/** Plans without doing: the same activity that an operation runs, on what the caller knows of the cluster. */
export async function plan(request: PlanRequest): Promise<Plan> {
  const { intent, current } = request;
  // A cluster records which nodes are to be replaced; a preview has no such record.
  const marked =
    intent.kind === 'replace' ? { ...request, current: markForReplacement(current, intent.nodes) } : request;
  return schedule('PLAN', marked, { summary: `PLAN ${intent.kind} of ${request.clusterName}` });
}
