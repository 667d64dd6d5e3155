import { activityInfo } from '@temporalio/activity';
import { setTimeout as wait } from 'node:timers/promises';
import { activityTable } from '../../model/activities.js';
import { anySignal } from '../../model/signals.js';
import type { TaskOutcome, TaskRequest } from '../../model/node/task-request.js';
import type { Task } from '../../model/node/task.js';
import { isPluginError, PluginError } from '../../plugins/errors.js';
import type { RegisteredProvider } from '../../plugins/registry.js';
import type { AccountName } from './account.js';
import type { Attempt } from '../attempt.js';
import { confirmMachine } from './confirm-machine.js';
import { createMachine } from './create-machine.js';
import { isSentOnce, refuseUnknownCreate } from './create-once.js';
import { deleteMachine } from './delete-machine.js';
import { consoleMs, keepConsole } from './keep-console.js';
import type { ActivityParts } from '../parts.js';
import { callProvider, openTarget, type CallOptions } from './provider-call.js';
import type { TaskCall } from '../task-call.js';
import { refuseResetDiscard, refuseSuperseded, resetTime } from './superseded.js';
import { findOwners, type OwnMachine } from '../sweep/find-owners.js';

/** Carries out CREATE, CONFIRM or DELETE by the plugin of the node's provider. */
export async function runProviderTask(call: TaskCall): Promise<Pick<TaskOutcome, 'result' | 'found'>> {
  const { parts, task, request, attempt } = call;
  await refuseUnknownCreate(call);
  await refuseResetDiscard(parts, request);
  const begunAt = performance.now();
  // What is sent once is given up before the attempt is cut off, for no other attempt may send it.
  const budgetMs = isSentOnce(parts, call.action, request)
    ? Math.min(leftMs(parts), activityInfo().startToCloseTimeoutMs)
    : leftMs(parts);
  const budget = budgetSignal(budgetMs, lastWordsMs);
  const target = await openTarget(parts, request, accountFor(request, task), attempt);
  const { plugin, machine } = target;
  if (request.swept === true)
    await refuseOwned(parts, {
      key: machine.key,
      providerid: machine.providerid ?? '',
      cluster: request.clusterId === '-' ? undefined : request.clusterId,
    });
  const earlierCallAt = await earlierCall(parts, plugin, request, task, attempt);
  const lastCallAt =
    task.taskName === 'DELETE' && machine.providerid === undefined
      ? activityInfo().scheduledTimestampMs
      : earlierCallAt;
  if (lastCallAt !== undefined) await untilVisible(plugin, { lastCallAt, begunAt }, attempt);
  const isConfirm = task.taskName === 'CONFIRM';
  // The last attempt ends early enough for its console to be read.
  const callBudget =
    isConfirm && plugin.abilities.includes('consoleOutput')
      ? budgetSignal(budgetMs, lastWordsMs + consoleMs)
      : budget;
  const options: CallOptions = {
    deadlineMs: plugin.descriptor.callDeadlineMs,
    signals: [callBudget],
    // A CREATE that was sent continues after a cancellation: it ends with the machine's id, which makes
    // deleting it easy.
    survivesCancel: task.taskName === 'CREATE',
  };
  try {
    return await callProvider(parts, { task, request, attempt }, target, options, async (admitted) => {
      // Checked after the deadline starts: a succeeding attempt waits at least as long as this call can take.
      if (earlierCallAt !== undefined || admitted.admission.waitedMs > patienceMs)
        await refuseSuperseded(parts);
      if (task.taskName === 'CREATE') return createMachine(admitted, earlierCallAt !== undefined);
      return { result: await (isConfirm ? confirmMachine(admitted, callBudget) : deleteMachine(admitted)) };
    });
  } catch (cause) {
    // No time is left for another attempt, which would end without a message.
    const error =
      callBudget.aborted && !(cause instanceof PluginError)
        ? new PluginError('NotReady', `timed out; last step: ${attempt.step()}`, {
            cause,
            retryAfterMs: 60_000,
          })
        : cause;
    if (!isConfirm) throw error;
    const late = callBudget.aborted || isLate(begunAt + budgetMs, attempt, error);
    throw await keepConsole({ parts, task, request, attempt, target, isLate: late, budget }, error);
  }
}

/** A deletion uses the administrator's access, whatever cluster files may refer to by now. */
function accountFor({ provider, swept }: TaskRequest, { taskName }: Task): AccountName {
  if (swept === true) return { name: provider.name };
  return taskName === 'DELETE' ? { ...provider, forDelete: true } : provider;
}

/**
 * A wait so short, in ms, that an attempt which another one replaced meanwhile is seen by it.
 * Attempts do not end by their own time limits alone: everyone who may call the Temporal server
 * can have one repeated at any time.
 */
const patienceMs = 500;

/**
 * How long before its deadline an attempt ends by itself, in ms, at most a quarter of its time: an attempt
 * cut off by the server could not report the reason.
 */
const lastWordsMs = 1_000;

/** Longer than an attempt of CONFIRM and the longest pause before the next one usually take, in ms. */
const lateMs = 25_000;

/** An attempt of CONFIRM has at least so long, in ms. */
const shortMs = 2_000;

/**
 * The end of the task's time, a little early. Taken as an attempt begins: from then on our own clock
 * measures.
 */
function budgetSignal(budgetMs: number, wordsMs: number): AbortSignal {
  const { scheduleToCloseTimeoutMs } = activityInfo();
  if (scheduleToCloseTimeoutMs === 0) return new AbortController().signal;
  const ms = budgetMs - Math.min(wordsMs, scheduleToCloseTimeoutMs / 4);
  return AbortSignal.timeout(Math.max(0, Math.round(ms)));
}

/**
 * Perhaps no attempt follows: the last part of the task's time has begun, or the next attempt
 * would be after it.
 */
function isLate(endsAt: number, { number }: Attempt, error: unknown): boolean {
  const { scheduleToCloseTimeoutMs } = activityInfo();
  if (scheduleToCloseTimeoutMs === 0) return false;
  const { initialMs, maximumMs } = activityTable.CONFIRM.retry;
  const pauseMs =
    (isPluginError(error) ? error.retryAfterMs : undefined) ??
    1.2 * Math.min(initialMs * 2 ** (number - 1), maximumMs);
  const leftMs = endsAt - performance.now();
  return leftMs < Math.min(lateMs, scheduleToCloseTimeoutMs / 4) || leftMs < pauseMs + shortMs;
}

/** What is left of the task's time when an attempt begins, in ms. All times are the server's. */
function leftMs({ serverNow }: Pick<ActivityParts, 'serverNow'>): number {
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs, scheduleToCloseTimeoutMs } =
    activityInfo();
  const now = Math.max(currentAttemptScheduledTimestampMs, serverNow() ?? 0);
  return scheduleToCloseTimeoutMs - (now - scheduledTimestampMs);
}

/**
 * When a CREATE of the same key with unknown outcome may last have been sent, in ms by the server's
 * clock; undefined when none can have been, or the provider itself sees to it that it does no harm.
 * The first attempt may follow those of an earlier task, or one that a reset removed from the history.
 */
async function earlierCall(
  parts: ActivityParts,
  { descriptor }: RegisteredProvider,
  request: TaskRequest,
  task: Task,
  attempt: Attempt,
): Promise<number | undefined> {
  const findsEarlier = descriptor.idempotency === 'name' || descriptor.idempotency === 'tag';
  if (task.taskName !== 'CREATE' || !findsEarlier || request.adopt === true) return undefined;
  if (!attempt.isFirst) return activityInfo().currentAttemptScheduledTimestampMs;
  return request.createBegun === true ? activityInfo().scheduledTimestampMs : resetTime(parts);
}

/**
 * An earlier CREATE may have its effect up to its deadline, and be listed only later: until
 * then looking says nothing. What passed before this attempt was scheduled is measured by the
 * server's clock, the rest by this process: their difference does not matter.
 */
async function untilVisible(
  { descriptor }: RegisteredProvider,
  { lastCallAt, begunAt }: { readonly lastCallAt: number; readonly begunAt: number },
  attempt: Attempt,
): Promise<void> {
  const passedMs = activityInfo().currentAttemptScheduledTimestampMs - lastCallAt;
  const windowMs = descriptor.callDeadlineMs + descriptor.consistencyWindowMs;
  attempt.at(`waits until an earlier call of ${descriptor.name} has ended and its result is visible`);
  await wait(Math.max(0, windowMs - Math.max(0, passedMs) - (performance.now() - begunAt)), undefined, {
    signal: anySignal([attempt.signal, attempt.detach]),
  });
}

/**
 * The sweep deletes only machines without an owner at this moment: since the listing, a new cluster of that
 * name may have adopted the machine.
 */
async function refuseOwned(parts: ActivityParts, machine: OwnMachine): Promise<void> {
  const [owner] = await findOwners(parts.clusters, [machine]);
  switch (owner?.is) {
    case 'orphan':
    case 'free':
    case 'abandoned':
    // The pass that decided had a record of it then, or a person named it.
    case 'unknown':
      return;
    case 'mine':
      throw new PluginError(
        'Invalid',
        `machine ${machine.providerid} now belongs to a cluster, so the sweep keeps it`,
      );
    case 'unclear':
      throw new PluginError('Invalid', `the sweep keeps machine ${machine.providerid}: ${owner.why}`);
    default:
      throw new PluginError(
        'Invalid',
        `the sweep keeps machine ${machine.providerid}: its cluster is not planned yet and may adopt it`,
      );
  }
}
