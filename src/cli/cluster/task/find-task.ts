import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { runsOf } from './history-events.js';
import { createTaskReader, type TaskRun } from './task-events.js';

export interface FoundTask {
  readonly run: TaskRun;
  /** What the server knows about the attempts of a running task. */
  readonly pending?: {
    readonly state: string;
    readonly attempt: number;
    readonly lastFailure?: temporal.api.failure.v1.IFailure;
  };
}

export interface TaskSearch {
  readonly found?: FoundTask;
  /** Short names of the tasks seen on the way. */
  readonly known: readonly string[];
}

/** Runs of a workflow that are searched, from the latest. */
const searchedRuns = 10;

/** Finds a task by its id, or the latest one of `<node>/<service>/<ACTION>` or `<node>/<ACTION>`. */
export async function findTask(client: Client, workflowId: string, wanted: string): Promise<TaskSearch> {
  const known = new Set<string>();
  let searched = 0;
  for await (const { runId, events } of runsOf(client, workflowId)) {
    const reader = createTaskReader();
    // A task may be scheduled again with the same id.
    const runs = new Map<string, TaskRun>();
    for (const event of events) {
      const run = reader.read(event);
      if (run === undefined) continue;
      const name =
        run.service === undefined ? [run.nodeId, run.action] : [run.nodeId, run.service, run.action];
      known.add(name.join('/'));
      if (run.taskId === wanted || name.join('/').toLowerCase() === wanted.toLowerCase())
        runs.set(`${run.taskId} ${run.scheduledAt}`, run);
    }
    const run = [...runs.values()].toSorted((a, b) => b.scheduledAt - a.scheduledAt)[0];
    if (run !== undefined)
      return { found: { run, pending: await pendingOf(client, workflowId, runId, run) }, known: [...known] };
    searched += 1;
    if (searched === searchedRuns) break;
  }
  return { known: [...known] };
}

async function pendingOf(
  client: Client,
  workflowId: string,
  runId: string,
  { taskId, end }: TaskRun,
): Promise<FoundTask['pending']> {
  if (end !== undefined) return undefined;
  const { raw } = await client.workflow.getHandle(workflowId, runId || undefined).describe();
  const activity = raw.pendingActivities?.find(({ activityId }) => activityId === taskId);
  if (!activity) return undefined;
  const { state, attempt, lastFailure } = activity;
  return {
    state: pendingStates[state ?? 0] ?? 'under way',
    attempt: attempt ?? 1,
    lastFailure: lastFailure ?? undefined,
  };
}

/** By the numbers of temporal.api.enums.v1.PendingActivityState. */
export const pendingStates = { 1: 'waits for a worker', 2: 'under way', 3: 'is being cancelled' } as Readonly<
  Record<number, 'waits for a worker' | 'under way' | 'is being cancelled'>
>;
