import { createTaskReader, type TaskRun } from '../../../src/cli/cluster/task/task-events.js';
import type { HeddleClient } from '../../../src/client/index.js';

/**
 * Every task of one action in an operation, as the history of the cluster's workflow tells.
 * @param operation its uid
 */
export async function runsOf(
  client: HeddleClient,
  cluster: string,
  operation: string,
  action: string,
): Promise<readonly TaskRun[]> {
  const { events } = await client.temporal.workflow.getHandle(`cluster/${cluster}`).fetchHistory();
  const reader = createTaskReader();
  const runs = new Map(
    (events ?? []).flatMap((event) => {
      const run = reader.read(event);
      return run?.action === action && run.operation === operation ? [[run.nodeId, run] as const] : [];
    }),
  );
  return [...runs.values()];
}
