import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { call } from '../../client/call.js';
import { lastFailure, neededFailures } from '../../client/stuck.js';
import type { QueueTasks } from '../../client/workers.js';
import type { Action } from '../../model/action.js';
import { workflowQueue, taskTitle } from '../../model/names.js';
import { handedOver, workerLost } from '../../model/node/failure.js';
import type { ActivityView, QueueView, ServerView, WorkflowView } from '../../schema/output/status.js';
import {
  asObject,
  decodeFailure,
  decodeFirst,
  textOf,
  type HistoryFailure,
} from '../../client/decode-history.js';
import { pendingStates } from '../cluster/task/find-task.js';
import { workflowsOf } from '../cluster/task/history-events.js';
import { readTaskId } from '../cluster/task/task-events.js';
import { timeText } from '../format.js';
import { protoMs } from '../../client/proto-time.js';
import { readQueue } from './pollers.js';
import { messageOf } from '../report-error.js';

type PendingActivity = temporal.api.workflow.v1.IPendingActivityInfo;

// temporal.api.enums.v1.TimeoutType
const heartbeatTimeout = 4;

/** A first attempt may take a moment to start. */
const patienceMs = 3_000;

/** @throws HeddleError NotFound, NoServer. */
export async function readServer(client: Client, cluster: string): Promise<ServerView> {
  return readWorkflows(
    client,
    await call(client, `workflows of ${cluster}`, () => workflowsOf(client, cluster)),
    `cluster ${cluster}`,
  );
}

/** The same for any workflows; `subject` names them in messages. @throws HeddleError NotFound, NoServer. */
export async function readWorkflows(
  client: Client,
  ids: readonly string[],
  subject: string,
): Promise<ServerView> {
  const found = await Promise.all(ids.map((id) => call(client, subject, () => readWorkflow(client, id))));
  const activities = found.flatMap((one) => one.activities);
  const { namespace } = client.options;
  const read = (queue: string, tasks: QueueTasks): Promise<QueueView> =>
    call(client, `queue ${queue}`, () => readQueue(client.connection, namespace, queue, tasks));
  const names = new Set(activities.flatMap(({ queue }) => queue ?? []));
  const queues = await Promise.all([
    read(workflowQueue, 'workflows'),
    ...[...names].map((queue) => read(queue, 'activities')),
  ]);
  return { workflows: found.map(({ workflow }) => workflow), activities, queues };
}

export async function readWorkflow(
  client: Client,
  id: string,
): Promise<{ readonly workflow: WorkflowView; readonly activities: readonly ActivityView[] }> {
  // Not by the SDK's own call, which wants to decrypt all of it.
  const {
    pendingActivities,
    pendingWorkflowTask,
    workflowExecutionInfo: info,
  } = await client.workflowService.describeWorkflowExecution({
    namespace: client.options.namespace,
    execution: { workflowId: id },
  });
  const attempt = pendingWorkflowTask?.attempt ?? 1;
  const since = timeText(pendingWorkflowTask?.originalScheduledTime ?? pendingWorkflowTask?.scheduledTime);
  const stuck = pendingWorkflowTask && (attempt > 1 || Date.now() - Date.parse(since) > patienceMs);
  const failure = attempt > neededFailures ? await lastFailure(client, id) : undefined;
  return {
    workflow: {
      id,
      runId: info?.execution?.runId ?? '',
      events: Number(String(info?.historyLength ?? 0)),
      task: stuck ? { attempt, since, failure } : undefined,
    },
    activities: await Promise.all(
      (pendingActivities ?? []).map((activity) => describeActivity(client, activity)),
    ),
  };
}

async function describeActivity(client: Client, activity: PendingActivity): Promise<ActivityView> {
  const { activityId, activityType, attempt, lastFailure, lastWorkerIdentity, activityOptions } = activity;
  const task = readTaskId(activityId ?? '');
  const failure = lastFailure ? await readFailure(client, lastFailure) : undefined;
  const queue = activityOptions?.taskQueue?.name;
  return {
    id: activityId ?? '',
    title:
      task === undefined
        ? (activityType?.name ?? 'activity')
        : taskTitle(task.action as Action, task.nodeId, task.service),
    nodeId: task?.nodeId,
    state: pendingStates[activity.state ?? 0] ?? 'waits for a worker',
    attempt: attempt ?? 1,
    since: sinceOf(activity),
    queue: queue || undefined,
    worker: lastWorkerIdentity || undefined,
    step: await readStep(client, activity),
    failure: failure && {
      kind: failure.type ?? 'unknown',
      message: failure.message,
      remedy: textOf(asObject(failure.details)['remedy']),
    },
  };
}

/**
 * Before a later attempt the server says when that begins; since when all of it lasts follows from when all
 * of it has to end.
 */
function sinceOf({
  attempt,
  scheduledTime,
  expirationTime,
  lastStartedTime,
  activityOptions,
}: PendingActivity): string {
  const [end, limitMs] = [protoMs(expirationTime), protoMs(activityOptions?.scheduleToCloseTimeout)];
  if ((attempt ?? 1) > 1 && end > 0 && limitMs > 0) return new Date(end - limitMs).toISOString();
  return timeText((attempt ?? 1) > 1 ? (lastStartedTime ?? scheduledTime) : scheduledTime);
}

/** Undefined also if the heartbeat cannot be decrypted here. */
async function readStep(client: Client, { heartbeatDetails }: PendingActivity): Promise<string | undefined> {
  const heartbeat = await decodeFirst(client, heartbeatDetails).catch(() => undefined);
  return typeof heartbeat === 'object' &&
    heartbeat !== null &&
    'step' in heartbeat &&
    typeof heartbeat.step === 'string'
    ? heartbeat.step
    : undefined;
}

/** Undefined if the attempt did not fail. */
async function readFailure(
  client: Client,
  failure: temporal.api.failure.v1.IFailure,
): Promise<HistoryFailure | undefined> {
  const { applicationFailureInfo: application, timeoutFailureInfo: timeout } = failure;
  if (application?.type === handedOver) return undefined;
  if (timeout?.timeoutType === heartbeatTimeout)
    return { type: workerLost, message: 'its worker was killed, or is overloaded' };
  return decodeFailure(client, failure).catch((error: unknown): HistoryFailure => ({
    message: `its message cannot be decrypted here: ${messageOf(error)}`,
  }));
}
