import type { temporal } from '@temporalio/proto';
import { protoMs } from '../../../client/proto-time.js';
import { readIdentity } from '../../../model/worker-identity.js';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Payloads = temporal.api.common.v1.IPayloads;
type Failure = temporal.api.failure.v1.IFailure;

/** One scheduling of one task, from a workflow's history. */
export interface TaskRun {
  readonly taskId: string;
  readonly action: string;
  readonly nodeId: string;
  readonly incarnation: number;
  readonly service?: string;
  readonly operation: string;
  /** Milliseconds since the epoch, as are all times here. */
  readonly scheduledAt: number;
  readonly taskQueue: string;
  readonly input: Payloads | null | undefined;
  /** Known once the last attempt was written to history, which happens at its end. */
  readonly attempt?: number;
  readonly worker?: string;
  readonly end?: TaskEnd;
}

interface TaskEnd {
  readonly state: 'done' | 'failed' | 'timed out' | 'cancelled';
  readonly at: number;
  readonly result?: Payloads | null | undefined;
  readonly failure?: Failure | null | undefined;
}

export interface TaskReader {
  /** Takes the next event; gives the task that it scheduled, started or ended. */
  read(event: HistoryEvent): TaskRun | undefined;
}

/** Assembles tasks from the events of one workflow run. */
export function createTaskReader(): TaskReader {
  const runs = new Map<string, TaskRun>();
  const change = (scheduled: unknown, changes: Partial<TaskRun>): TaskRun | undefined => {
    const key = String(scheduled);
    const run = runs.get(key);
    if (run === undefined) return undefined;
    const changed = { ...run, ...changes };
    runs.set(key, changed);
    return changed;
  };
  return {
    read(event) {
      const at = protoMs(event.eventTime);
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (scheduled) {
        const run = openRun(scheduled, at);
        if (run !== undefined) runs.set(String(event.eventId), run);
        return run;
      }
      const started = event.activityTaskStartedEventAttributes;
      if (started)
        return change(started.scheduledEventId, {
          attempt: started.attempt ?? 1,
          worker: readIdentity(started.identity ?? '').worker || undefined,
        });
      const { activityTaskCompletedEventAttributes: done, activityTaskFailedEventAttributes: failed } = event;
      const { activityTaskTimedOutEventAttributes: late, activityTaskCanceledEventAttributes: cancelled } =
        event;
      const ended = done ?? failed ?? late ?? cancelled;
      const state = done ? 'done' : failed ? 'failed' : late ? 'timed out' : 'cancelled';
      const failure = (failed ?? late)?.failure;
      return ended
        ? change(ended.scheduledEventId, { end: { state, at, result: done?.result, failure } })
        : undefined;
    },
  };
}

const taskIdPattern =
  /^.+\/(?<nodeId>[^/#]+)#(?<incarnation>\d+)\/(?<service>[^/]+)\/(?<action>[A-Z_]+)\/(?<operation>[^/_]+)(?:_\d+)?$/;

/** The parts of a task's id; undefined for activities that are not tasks, such as PLAN. */
export function readTaskId(
  id: string,
): Pick<TaskRun, 'nodeId' | 'incarnation' | 'service' | 'action' | 'operation'> | undefined {
  const parts = taskIdPattern.exec(id)?.groups;
  if (parts === undefined) return undefined;
  const { nodeId = '', incarnation, service = '-', action = '', operation = '' } = parts;
  return {
    action,
    nodeId,
    incarnation: Number(incarnation),
    operation,
    service: service === '-' ? undefined : service,
  };
}

function openRun(
  scheduled: NonNullable<HistoryEvent['activityTaskScheduledEventAttributes']>,
  at: number,
): TaskRun | undefined {
  const { activityId, taskQueue, input } = scheduled;
  const task = readTaskId(activityId ?? '');
  if (!activityId || task === undefined) return undefined;
  return { ...task, taskId: activityId, scheduledAt: at, taskQueue: taskQueue?.name ?? '', input };
}
