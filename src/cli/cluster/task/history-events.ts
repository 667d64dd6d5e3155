import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { clusterWorkflowId } from '../../../model/names.js';
import { protoMs } from '../../../client/proto-time.js';
import { createTaskReader, type TaskRun } from './task-events.js';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** One run of a workflow. */
export interface WorkflowRun {
  readonly runId: string;
  /** Oldest first. */
  readonly events: readonly HistoryEvent[];
}

/** The last run of each task of one action that one operation scheduled, by its uid. */
export async function readTasks(
  client: Client,
  cluster: string,
  wanted: { readonly operation: string; readonly action: string; readonly since: number },
): Promise<readonly TaskRun[]> {
  const latest = new Map<string, TaskRun>();
  for (const workflowId of await workflowsOf(client, cluster)) {
    const runs: WorkflowRun[] = [];
    for await (const run of runsOf(client, workflowId, wanted.since)) runs.push(run);
    for (const { events } of runs.toReversed()) {
      const reader = createTaskReader();
      for (const event of events) {
        const run = reader.read(event);
        if (run?.operation === wanted.operation && run.action === wanted.action) latest.set(run.nodeId, run);
      }
    }
  }
  return [...latest.values()];
}

/** The cluster's workflow, and those of its groups. */
export async function workflowsOf(client: Client, cluster: string): Promise<readonly string[]> {
  const root = clusterWorkflowId(cluster);
  const query = `WorkflowId STARTS_WITH '${root}/group/' AND ExecutionStatus = 'Running'`;
  const { namespace } = client.options;
  const { executions } = await client.workflowService.listWorkflowExecutions({
    namespace,
    query,
    pageSize: 1_000,
  });
  return [root, ...(executions ?? []).flatMap(({ execution }) => execution?.workflowId ?? [])];
}

/**
 * The runs of a workflow, the latest first, with their events since a moment (ms since the epoch). Reads
 * backwards, so that a long history costs nothing.
 */
export async function* runsOf(client: Client, workflowId: string, since = 0): AsyncGenerator<WorkflowRun> {
  const { namespace } = client.options;
  for (let runId: string | undefined = ''; runId !== undefined;) {
    const events: HistoryEvent[] = [];
    let isEarlier = false;
    for (let token: Uint8Array | undefined; !isEarlier && token?.length !== 0;) {
      const page: temporal.api.workflowservice.v1.IGetWorkflowExecutionHistoryReverseResponse =
        await client.workflowService.getWorkflowExecutionHistoryReverse({
          namespace,
          execution: { workflowId, runId },
          nextPageToken: token,
        });
      const found = page.history?.events ?? [];
      const wanted = found.filter((event) => protoMs(event.eventTime) >= since);
      isEarlier = wanted.length < found.length;
      events.push(...wanted);
      token = page.nextPageToken ?? new Uint8Array();
    }
    yield { runId, events: events.toReversed() };
    const started = events.at(-1)?.workflowExecutionStartedEventAttributes;
    runId = isEarlier ? undefined : started?.continuedExecutionRunId || undefined;
  }
}
