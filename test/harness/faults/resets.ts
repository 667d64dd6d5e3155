import { randomUUID } from 'node:crypto';
import type { Harness } from './harness.js';

/** Ids of the events at which a workflow can be reset: each end of a workflow task. */
export async function resetPoints(
  { client, namespace }: Pick<Harness, 'client' | 'namespace'>,
  name: string,
): Promise<readonly number[]> {
  const points: number[] = [];
  for (let nextPageToken: Uint8Array | undefined; nextPageToken === undefined || nextPageToken.length > 0;) {
    const page = await client.temporal.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId: `cluster/${name}` },
      nextPageToken,
    });
    for (const { eventId, workflowTaskCompletedEventAttributes } of page.history?.events ?? []) {
      if (workflowTaskCompletedEventAttributes !== null && workflowTaskCompletedEventAttributes !== undefined)
        points.push(Number(eventId));
    }
    nextPageToken = page.nextPageToken ?? new Uint8Array();
  }
  return points;
}

/** Does what the Web UI's Reset does. */
export async function reset(
  { client, namespace }: Pick<Harness, 'client' | 'namespace'>,
  name: string,
  event: number | Long | null | undefined,
): Promise<void> {
  const { temporal } = client;
  const { runId } = await temporal.workflow.getHandle(`cluster/${name}`).describe();
  await temporal.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: `cluster/${name}`, runId },
    reason: 'test',
    requestId: randomUUID(),
    workflowTaskFinishEventId: event as Long,
  });
}

type Long = NonNullable<
  Parameters<
    Harness['client']['temporal']['workflowService']['resetWorkflowExecution']
  >[0]['workflowTaskFinishEventId']
>;
