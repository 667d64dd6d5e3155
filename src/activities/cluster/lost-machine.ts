import { setTimeout as wait } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import type { AnyAction } from '../../model/action.js';
import { anySignal } from '../../model/signals.js';
import { diskMarks } from '../../model/machine/actions.js';
import type { Loss } from '../../model/node/failure.js';
import { nodeOfTask } from '../../model/node/assigned-machine.js';
import { isPluginError, type PluginError } from '../../plugins/errors.js';
import { MachineLost } from '../failures.js';
import { viewAccount } from '../provider/account-view.js';
import type { SharedLists } from '../provider/shared-lists.js';
import type { TaskCall } from '../task-call.js';
import { probeAtProvider } from './probe-node.js';

/** Time, in ms, to come back: a machine that restarts is shown as stopped for a moment. */
const settleMs = 10_000;

/** How long a machine may boot before its provider is asked, in ms. */
const bootMs = 20_000;

/** Actions that wait until the machine answers. */
const waiting: readonly AnyAction[] = ['CONFIRM', 'REACH'];

/** Actions of the engine that log in to the machine. */
const byEngine: readonly AnyAction[] = ['TAINT', 'GET_CURRENT_IMAGE', ...diskMarks];

/**
 * The error of a task that may have lost contact with its machine: MachineLost if the provider shows, twice,
 * that the machine does not run any more. Otherwise, or if the provider cannot be asked, the error itself.
 */
export async function explainLostContact(
  error: unknown,
  call: TaskCall,
  lists: SharedLists,
): Promise<unknown> {
  const { attempt, request } = call;
  const ended = anySignal([attempt.signal, attempt.detach]);
  if (!isPluginError(error) || !mayHaveLostContact(error, call) || ended.aborted) return error;
  try {
    attempt.at(`asks ${request.provider.name} whether the machine runs`);
    const first = await findLoss(call, lists);
    if (first === undefined) return error;
    attempt.log.info(`${first.why}; checks again`);
    await wait(Math.max(settleMs, first.lagMs), undefined, { signal: ended });
    const loss = await findLoss(call, lists);
    return loss === undefined ? error : new MachineLost({ seen: loss.seen, why: loss.why }, error);
  } catch (cause) {
    attempt.log.debug('the provider could not be asked whether the machine runs', { why: String(cause) });
    return error;
  }
}

/** Whether the error may come from a machine that does not run, rather than from its provider. */
function mayHaveLostContact({ kind, exitCode }: PluginError, { action, row }: TaskCall): boolean {
  if (waiting.includes(action)) return (kind === 'Retryable' || kind === 'NotReady') && spentMs() >= bootMs;
  if (row.by !== 'automator' && row.by !== 'system' && !byEngine.includes(action)) return false;
  // A check that never passed has no exit code.
  return kind === 'Retryable' || (kind === 'ScriptFailed' && exitCode === undefined);
}

/** The time that earlier attempts took, in ms, by the server's clock. */
function spentMs(): number {
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  return currentAttemptScheduledTimestampMs - scheduledTimestampMs;
}

/** How the provider shows a machine that does not run; `lagMs`: how long it may show less than there is. */
async function findLoss(
  { parts, request, attempt }: TaskCall,
  lists: SharedLists,
): Promise<(Loss & { readonly lagMs: number }) | undefined> {
  const view = await viewAccount(parts, lists, request.clusterId, request.provider, attempt);
  const verdict = await probeAtProvider({ view, listed: await view.list() }, nodeOfTask(request));
  if (verdict?.kind === 'missing') return { seen: 'gone', why: verdict.why, lagMs: view.consistencyWindowMs };
  if (verdict?.kind !== 'drift' || (verdict.seen !== 'gone' && verdict.seen !== 'stopped')) return undefined;
  return { seen: verdict.seen, why: verdict.why, lagMs: 0 };
}
