import { setTimeout as wait } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { anySignal } from '../../model/signals.js';
import { isPluginError, PluginError, type FailureKind } from '../../plugins/errors.js';
import { markBefore, readMark, type Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';

/** What a provider says before it makes anything: these leave no doubt. */
const refusals: readonly FailureKind[] = ['Capacity', 'Quota', 'Auth', 'Invalid'];

/** Longest wait, in ms, until the server shows the intent: heartbeats are sent some seconds apart. */
const patienceMs = 15_000;

export interface CreateOnce {
  readonly attempt: Attempt;
  readonly runs: ActivityParts['runs'];
  readonly provider: { readonly name: string; readonly type: string };
  readonly hostname: string;
  readonly cluster: string;
}

/**
 * CREATE at a provider that cannot be asked what came of a call. The intent is on record at the server before the call is
 * made, so a later attempt knows whether it was: one that was and whose end nobody heard is never made again by itself.
 */
export async function createOnce<Result>(once: CreateOnce, create: () => Promise<Result>): Promise<Result> {
  const { attempt } = once;
  if (markBefore() === 'sent') throw quarantine(once, 'the worker that sent it was lost');
  attempt.mark('sent');
  await untilRecorded(once);
  try {
    return await create();
  } catch (error) {
    if (!isPluginError(error)) throw attempt.detach.aborted ? error : quarantine(once, messageOf(error), error);
    if (error.kind === 'NotReady') attempt.mark('unsent');
    if (error.kind === 'NotReady' || refusals.includes(error.kind)) throw error;
    throw quarantine(once, error.message, error);
  }
}

/** @throws PluginError Retryable when the server does not show the intent: nothing was sent. */
async function untilRecorded({ attempt, runs }: CreateOnce): Promise<void> {
  const { workflowExecution: execution, activityId, attempt: number } = activityInfo();
  attempt.at('records that it is about to send CREATE');
  try {
    for (let pause = 20, until = Date.now() + patienceMs; execution !== undefined && Date.now() < until; pause = Math.min(pause * 2, 500)) {
      const run = await runs.describe(execution.workflowId, execution.runId);
      const task = run?.pending.find((pending) => pending.activityId === activityId && pending.attempt === number);
      if (task === undefined) throw new Error('another attempt has taken the place of this one');
      if (readMark(task.heartbeat) === 'sent') return;
      await wait(pause, undefined, { signal: anySignal([attempt.signal, attempt.detach]) });
    }
    throw new Error('the Temporal server does not show it');
  } catch (cause) {
    attempt.mark('unsent');
    if (attempt.signal.aborted || attempt.detach.aborted) throw cause;
    throw new PluginError('Retryable', `CREATE was not sent, for its intent could not be recorded first: ${messageOf(cause)}`, { cause });
  }
}

function quarantine({ provider, hostname, cluster }: CreateOnce, what: string, cause?: unknown): PluginError {
  return new PluginError('UnknownOutcome', `CREATE of machine ${hostname} was sent to provider ${provider.name}, and nobody knows whether it was made (${what}). `
    + `Provider type ${provider.type} cannot tell, so it is not repeated. Look there for a machine named ${hostname}, delete it if there is one, then: heddle retry ${cluster}`,
  cause === undefined ? {} : { cause });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
