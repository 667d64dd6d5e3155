import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { clusterWorkflowId } from '../../../model/names.js';
import { createTaskReader, type TaskRun, timeOf } from './task-events.js';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** Tasks of one action that one operation scheduled, the last run of each. */
export async function readTasks(
  client: Client,
  cluster: string,
  wanted: { readonly operation: string; readonly action: string; readonly since: number },
): Promise<readonly TaskRun[]> {
  const latest = new Map<string, TaskRun>();
  for (const workflowId of await workflowsOf(client, cluster)) {
    for (const events of await readSince(client, workflowId, wanted.since)) {
      const reader = createTaskReader();
      for (const event of events) {
        const run = reader.read(event);
        if (run?.operation === wanted.operation && run.action === wanted.action) latest.set(run.nodeId, run);
      }
    }
  }
  return [...latest.values()];
}

/** The cluster's workflow, and those that carry groups of its nodes. */
export async function workflowsOf(client: Client, cluster: string): Promise<readonly string[]> {
  const root = clusterWorkflowId(cluster);
  const query = `WorkflowId STARTS_WITH '${root}/group/' AND ExecutionStatus = 'Running'`;
  const { executions } = await client.workflowService.listWorkflowExecutions({
    namespace: client.options.namespace,
    query,
    pageSize: 1_000,
  });
  return [root, ...(executions ?? []).flatMap(({ execution }) => execution?.workflowId ?? [])];
}

/**
 * Events from a moment on (milliseconds since the epoch), by run, oldest first. Reads backwards, so that a
 * long history costs nothing.
 */
export async function readSince(
  client: Client,
  workflowId: string,
  since: number,
): Promise<readonly (readonly HistoryEvent[])[]> {
  const runs: HistoryEvent[][] = [];
  let runId: string | undefined = '';
  while (runId !== undefined) {
    const { events, earlier } = await readRun(client, { workflowId, runId }, since);
    runs.unshift(events);
    runId = earlier;
  }
  return runs;
}

async function readRun(
  client: Client,
  execution: { readonly workflowId: string; readonly runId: string },
  since: number,
): Promise<{ readonly events: HistoryEvent[]; readonly earlier: string | undefined }> {
  const { namespace } = client.options;
  const events: HistoryEvent[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace,
      execution,
      nextPageToken,
    });
    for (const event of page.history?.events ?? []) {
      if (timeOf(event) < since) return { events: events.toReversed(), earlier: undefined };
      events.push(event);
    }
    nextPageToken = page.nextPageToken.length === 0 ? undefined : page.nextPageToken;
  } while (nextPageToken !== undefined);
  const earlier = events.at(-1)?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  return { events: events.toReversed(), earlier: earlier || undefined };
}
