import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { PackedPlanRequest, PlanReply } from '../model/cluster/messages.js';
import { placementChecks, type PlacementProblem } from '../model/cluster/placement-check.js';
import { markForReplacement } from '../model/plan/facts/current.js';
import { packCurrent, unpackCurrent, unpackPlan, type PackedPlan } from '../model/plan/packed.js';
import type { ServedPlan } from '../model/plan/plan.js';
import { schedule } from './schedule.js';

/**
 * Plans without doing: the same activity that an operation runs, on what the caller knows of
 * the cluster. With `checks`, workers of the sites say what they know to be wrong.
 */
export async function plan({ checks, clusterUid, ...request }: PackedPlanRequest): Promise<PackedPlan> {
  const { intent, current, clusterName } = request;
  // A cluster records which nodes are to be replaced; a preview has no such record.
  const marked =
    intent.kind === 'replace'
      ? { ...request, current: packCurrent(markForReplacement(unpackCurrent(current), intent.nodes)) }
      : request;
  const reply = await schedule('PLAN', marked, { summary: `PLAN ${intent.kind} of ${clusterName}` });
  const planned = packedPlanOf(reply);
  if (checks === true)
    await checkSites(
      clusterName,
      placementChecks({ clusterId: clusterName, clusterUid }, unpackPlan(planned)),
    );
  return planned;
}

/** @throws ApplicationFailure Invalid or Refused if the request was rejected. */
export function planOf(reply: PlanReply): ServedPlan {
  return unpackPlan(packedPlanOf(reply));
}

function packedPlanOf(reply: PlanReply): PackedPlan {
  if (reply.rejected === undefined) return reply.plan;
  const { message, type, details = [] } = reply.rejected;
  throw ApplicationFailure.nonRetryable(message, type, ...details);
}

/** @throws ApplicationFailure Invalid with the problems, if there are any. */
export async function checkSites(
  clusterName: string,
  checks: ReturnType<typeof placementChecks>,
): Promise<void> {
  const found = await Promise.all(
    checks.map(({ site, check }) =>
      schedule('CHECK_PLACEMENT', check, {
        at: { site },
        summary: `CHECK_PLACEMENT ${check.provider.name} of ${clusterName}`,
      }).then(
        ({ problems }) => problems,
        // What cannot be asked now is not known to be wrong.
        (error: unknown) => {
          if (error instanceof ActivityFailure) return [];
          throw error;
        },
      ),
    ),
  );
  const problems = withoutRepeats(found.flat());
  if (problems.length === 0) return;
  const lines = problems.map(({ path, wrong }) => `${path.join('.')}: ${wrong}`);
  throw ApplicationFailure.nonRetryable(lines.join('\n'), 'Invalid', problems);
}

/** Services of several groups, and variables, are checked for each of them. */
function withoutRepeats(problems: readonly PlacementProblem[]): readonly PlacementProblem[] {
  const texts = problems.map((problem) => JSON.stringify(problem));
  return problems.filter((_, index) => texts.indexOf(texts[index] ?? '') === index);
}
