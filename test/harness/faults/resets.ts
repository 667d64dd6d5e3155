import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
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

export interface ResetOptions {
  /** The group that is reset instead of its cluster. */
  readonly group?: string;
  /** Messages after the reset point are not delivered once more. */
  readonly withoutMessages?: boolean;
}

/** Does what the Web UI's Reset does. */
export async function reset(
  { client, namespace }: Pick<Harness, 'client' | 'namespace'>,
  name: string,
  event: number | Long | null | undefined,
  { group, withoutMessages = false }: ResetOptions = {},
): Promise<void> {
  const workflowId = group === undefined ? `cluster/${name}` : `cluster/${name}/group/${group}`;
  const { runId } = await client.temporal.workflow.getHandle(workflowId).describe();
  const { RESET_REAPPLY_TYPE_NONE: none } = temporal.api.enums.v1.ResetReapplyType;
  await client.temporal.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId, runId },
    reason: 'test',
    requestId: randomUUID(),
    workflowTaskFinishEventId: event as Long,
    ...(withoutMessages ? { resetReapplyType: none } : {}),
  });
}

type Long = NonNullable<
  Parameters<
    Harness['client']['temporal']['workflowService']['resetWorkflowExecution']
  >[0]['workflowTaskFinishEventId']
>;
