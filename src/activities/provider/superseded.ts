import { activityInfo } from '@temporalio/activity';
import type { TaskRequest } from '../../model/node/task-request.js';
import { PluginError } from '../../plugins/errors.js';
import type { ActivityParts } from '../parts.js';

/** How far the clocks of the Temporal server's hosts may be apart, in ms. */
const hostSkewMs = 5_000;

/** When the workflow of this task was last reset, in ms since the epoch; undefined if it was not. */
export async function resetTime({ runs }: Pick<ActivityParts, 'runs'>): Promise<number | undefined> {
  const { workflowExecution: execution } = activityInfo();
  if (execution === undefined) return undefined;
  const { workflowId, runId } = execution;
  return patiently(workflowId, runs.resetAt(workflowId, runId));
}

/**
 * After a reset of its workflow, a machine that counts as never confirmed may be in service,
 * unless it was made since.
 */
export async function refuseResetDiscard(
  parts: Pick<ActivityParts, 'runs'>,
  request: TaskRequest,
): Promise<void> {
  const { discards, madeAt, clusterId, nodeId } = request;
  if (discards === undefined) return;
  const resetAt = await resetTime(parts);
  if (resetAt === undefined || (madeAt !== undefined && madeAt > resetAt + hostSkewMs)) return;
  throw new PluginError(
    'Invalid',
    `the workflow was reset at ${new Date(resetAt).toISOString()}, and the machine may have been in service before, so it is not deleted. ` +
      `Run 'heddle apply FILE' to bring the node up with it, or 'heddle replace ${clusterId} ${nodeId}' to delete it`,
  );
}

/**
 * Refuses to continue if another attempt has replaced this one, or the workflow was reset. The wait may have
 * been longer than the heartbeat timeout.
 */
export async function refuseSuperseded(parts: ActivityParts): Promise<void> {
  const { workflowExecution: execution, activityId, attempt } = activityInfo();
  if (execution === undefined) return;
  const run = await patiently(
    execution.workflowId,
    parts.runs.describe(execution.workflowId, execution.runId),
  );
  if (run?.pending.some((task) => task.activityId === activityId && task.attempt === attempt) === true)
    return;
  throw new PluginError('Retryable', 'another attempt has replaced this one');
}

async function patiently<Value>(workflowId: string, answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (cause) {
    // Nothing was begun yet.
    throw new PluginError(
      'Retryable',
      `the Temporal server did not describe ${workflowId} (${cause instanceof Error ? cause.message : String(cause)})`,
      { cause },
    );
  }
}
