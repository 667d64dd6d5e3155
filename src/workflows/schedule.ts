import { jsonBytes, mostSent } from '../model/carried.js';
import { milliseconds } from '../model/milliseconds.js';
import { RetryState } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  scheduleActivity,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { Action } from '../model/action.js';
import {
  activityTable,
  groupHeartbeats,
  heartbeats,
  type Activities,
  type ActivityName,
} from '../model/activities.js';
import type { MachineAction } from '../model/machine/actions.js';
import type { MachineTaskOutcome, MachineTaskRequest } from '../model/machine/messages.js';
import type { TaskOutcome, TaskRequest } from '../model/node/task-request.js';
import {
  buildQueue,
  coreQueue,
  groupQueue,
  groupSiteQueue,
  providerQueue,
  siteQueue,
  taskTitle,
  uploadQueue,
} from '../model/names.js';
import type { Placement } from '../model/node/placement.js';
import type { Step } from '../model/plan/plan.js';
import { retryAfterMs } from '../model/resumption.js';

/** Priority of workflows and tasks that name none. Lower numbers go first; servers have 1 to 5 by default. */
export const defaultPriorityKey = 3;

/** What differs from the activity's row for one call. Durations are in ms. */
export interface ScheduleOptions {
  /** Shown in the Web UI. Default: the activity's name. */
  readonly summary?: string;
  /** Required unless any worker may take the activity. */
  readonly at?: { readonly site: string; readonly provider?: string };
  readonly id?: string;
  readonly attemptMs?: number;
  readonly budgetMs?: number;
  readonly attempts?: number;
}

/**
 * Schedules an activity; queue, timeouts and retries come from its row in the table. An attempt that runs is
 * always waited for, also when it is cancelled: a CREATE still reports its machine.
 * @throws ActivityFailure Invalid for a request that no message can carry: the server would end the workflow.
 */
export async function schedule<Name extends ActivityName>(
  name: Name,
  request: Parameters<Activities[Name]>[0],
  options: ScheduleOptions = {},
): Promise<Awaited<ReturnType<Activities[Name]>>> {
  const bytes = jsonBytes(request);
  if (bytes > mostSent) throw tooLarge(name, bytes);
  await spend(bytes);
  const row = activityTable[name];
  const attempts = options.attempts ?? (row.retry.by === 'server' ? row.retry.attempts : undefined);
  return scheduleActivity<Awaited<ReturnType<Activities[Name]>>>(
    name,
    request === undefined ? [] : [request],
    {
      activityId: options.id,
      taskQueue: queueOf(row.queue, options.at),
      summary: options.summary ?? name,
      // Groups share the queues of accounts with pools and small clusters: with the lower priority of a group
      // its tasks could wait for those for ever. Elsewhere tasks inherit the priority of their workflow.
      priority: row.queue === 'provider' ? { priorityKey: defaultPriorityKey } : undefined,
      startToCloseTimeout: options.attemptMs ?? row.attemptMs,
      scheduleToCloseTimeout: options.budgetMs ?? row.budgetMs,
      scheduleToStartTimeout: row.startWithinMs,
      heartbeatTimeout: (row.queue === 'site' && isOnGroupQueue() ? groupHeartbeats : heartbeats).timeoutMs,
      cancellationType:
        row.isAbandoned === true
          ? ActivityCancellationType.TRY_CANCEL
          : ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: {
        ...(row.retry.by === 'worker'
          ? { initialInterval: retryAfterMs, backoffCoefficient: 1 }
          : { initialInterval: row.retry.initialMs, maximumInterval: row.retry.maximumMs }),
        maximumAttempts: attempts,
      },
    },
  );
}

function tooLarge(name: ActivityName, bytes: number): ActivityFailure {
  const why = `the request of ${name} has ${bytes} bytes as JSON; the limit of a message is ${mostSent}; split it into several requests`;
  const cause = ApplicationFailure.nonRetryable(why, 'Invalid');
  return new ActivityFailure(why, name, undefined, RetryState.NON_RETRYABLE_FAILURE, undefined, cause);
}

/**
 * Whether this workflow is a group; one that is older than the queue of groups counts as another workflow.
 */
function isOnGroupQueue(): boolean {
  return workflowInfo().taskQueue === groupQueue;
}

/**
 * What one workflow task may command, in bytes of JSON: above 4 MB Temporal terminates the workflow.
 */
const maxTaskBytes = 700_000;
// Each run of a workflow has its own instance of this module.
let historyAtTask = 0;
let spentBytes = 0;

/** Waits for a later workflow task if this one would command too much. */
export async function spend(bytes: number): Promise<void> {
  for (;;) {
    // The length of the history distinguishes workflow tasks.
    const { historyLength } = workflowInfo();
    if (historyLength !== historyAtTask) {
      historyAtTask = historyLength;
      spentBytes = 0;
    }
    if (spentBytes === 0 || spentBytes + bytes <= maxTaskBytes) {
      spentBytes += bytes;
      return;
    }
    await sleep(1);
  }
}

function queueOf(
  queue: (typeof activityTable)[ActivityName]['queue'],
  { site, provider = '-' }: NonNullable<ScheduleOptions['at']> = { site: '' },
): string {
  switch (queue) {
    case 'core':
      return coreQueue;
    case 'site':
      return isOnGroupQueue() ? groupSiteQueue(site) : siteQueue(site);
    case 'provider':
      return providerQueue(site, provider);
    case 'build':
      return buildQueue(site);
    case 'upload':
      return uploadQueue(site);
  }
}

/**
 * Schedules one task of a node.
 * @param step mayFail, in the tear-down of a whole cluster: give up soon on a node that does not answer
 */
export async function scheduleTask(
  action: Action,
  request: TaskRequest,
  placement: Pick<Placement, 'site' | 'provider' | 'confirmWithinMs' | 'launchWithinMs'>,
  { mayFail, withinMs }: Pick<Step, 'mayFail' | 'withinMs'> = {},
): Promise<TaskOutcome> {
  const row = activityTable[action];
  const { confirmWithinMs, launchWithinMs } = placement;
  const budgets: Partial<Record<Action, number>> = { CONFIRM: confirmWithinMs, CREATE: launchWithinMs };
  const scriptMs = request.service?.timeoutMs ?? request.command?.timeoutMs;
  return schedule(action, request, {
    id: request.taskId,
    at: placement,
    summary: taskTitle(action, request.nodeId, request.service?.name),
    // The script's own limit ends it on the node; the attempt also connects and fetches the outcome.
    attemptMs:
      (scriptMs === undefined ? row.attemptMs : scriptMs + 60_000) + milliseconds(request.check?.within ?? 0),
    budgetMs: withinMs ?? budgets[action],
    attempts: mayFail === true && row.by === 'automator' ? 3 : undefined,
  });
}

/** Schedules an action on a machine, within `leftMs` altogether. */
export async function scheduleMachineTask(
  action: MachineAction,
  request: MachineTaskRequest,
  {
    leftMs = Infinity,
    ...at
  }: { readonly site: string; readonly provider: string; readonly leftMs?: number },
): Promise<MachineTaskOutcome> {
  const { attemptMs, budgetMs = Infinity, retry } = activityTable[action];
  const limitMs = Math.min(budgetMs, leftMs);
  return schedule(action, request, {
    id: request.taskId,
    at,
    summary: taskTitle(action, request.nodeId),
    attemptMs: Math.min(attemptMs, leftMs),
    budgetMs: limitMs === Infinity ? undefined : limitMs,
    attempts: retry.attempts,
  });
}
