import type { Client, WorkflowHandle } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { createTaskReader, type TaskRun } from './task-events.js';

export interface FoundTask {
  readonly run: TaskRun;
  /** Of a task that is under way: what the server knows of its attempts. */
  readonly pending?: {
    readonly state: string;
    readonly attempt: number;
    readonly lastFailure?: temporal.api.failure.v1.IFailure;
  };
}

/** A cluster that continued as new has several histories; so many are looked at, from the latest. */
const searchedRuns = 10;

export interface TaskSearch {
  readonly found?: FoundTask;
  /** Short names of the tasks that were seen on the way. */
  readonly known: readonly string[];
}

/**
 * Looks a task up in a cluster's history: by its id, or as `<node>/<service>/<ACTION>` or `<node>/<ACTION>`,
 * of which the latest counts.
 */
export async function findTask(client: Client, workflowId: string, wanted: string): Promise<TaskSearch> {
  const known = new Set<string>();
  let runId: string | undefined = (await client.workflow.getHandle(workflowId).describe()).runId;
  for (let searched = 0; runId !== undefined && searched < searchedRuns; searched += 1) {
    const handle: WorkflowHandle = client.workflow.getHandle(workflowId, runId);
    const { events } = await handle.fetchHistory();
    const reader = createTaskReader();
    const runs = new Map<string, TaskRun>();
    for (const event of events ?? []) {
      const run = reader.read(event);
      if (run === undefined) continue;
      known.add(shortName(run));
      // By the time of its scheduling: a task may be scheduled again under the same id.
      if (matches(run, wanted)) runs.set(`${run.taskId} ${run.scheduledAt}`, run);
    }
    const run = [...runs.values()].toSorted((a, b) => b.scheduledAt - a.scheduledAt)[0];
    if (run !== undefined) {
      const found =
        run.end === undefined
          ? withPending(run, (await handle.describe()).raw.pendingActivities ?? [])
          : { run };
      return { found, known: [...known] };
    }
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  }
  return { known: [...known] };
}

function withPending(
  run: TaskRun,
  activities: readonly temporal.api.workflow.v1.IPendingActivityInfo[],
): FoundTask {
  const found = activities.find(({ activityId }) => activityId === run.taskId);
  if (found === undefined) return { run };
  return {
    run,
    pending: {
      state: pendingStates[found.state ?? 0] ?? 'under way',
      attempt: found.attempt ?? 1,
      ...(found.lastFailure ? { lastFailure: found.lastFailure } : {}),
    },
  };
}

// temporal.api.enums.v1.PendingActivityState
const pendingStates: Readonly<Record<number, string>> = {
  1: 'waits for a worker',
  2: 'under way',
  3: 'is being cancelled',
};

function shortName({ nodeId, service, action }: TaskRun): string {
  return service === undefined ? `${nodeId}/${action}` : `${nodeId}/${service}/${action}`;
}

function matches(run: TaskRun, wanted: string): boolean {
  return run.taskId === wanted || shortName(run).toLowerCase() === wanted.toLowerCase();
}
