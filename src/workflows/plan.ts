import type { Plan } from '../model/plan.js';
import type { PlanRequest } from '../model/messages.js';
import { runPlan } from './run-task.js';

/** Plans without doing: the same activity that an operation runs, on what the caller knows of the cluster. */
export async function plan(request: PlanRequest): Promise<Plan> {
  return runPlan<Plan>(request, `PLAN ${request.intent.kind} of ${request.clusterName}`);
}
