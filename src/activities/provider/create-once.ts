import { isJsonObject } from '../../model/json.js';
import { isPluginError, PluginError, type FailureKind } from '../../plugins/errors.js';
import { markBefore, type Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import { recordMark } from '../recorded-mark.js';

/** What a provider says before it makes anything: these leave no doubt. */
const refusals: readonly FailureKind[] = ['Capacity', 'Quota', 'Auth', 'Invalid'];

export interface CreateOnce {
  readonly attempt: Attempt;
  readonly runs: ActivityParts['runs'];
  readonly provider: { readonly name: string; readonly type: string };
  readonly hostname: string;
  readonly cluster: string;
}

/**
 * CREATE at a provider that cannot be asked what came of a call. The intent is on record at the server before
 * the call is made, so a later attempt knows whether it was: a call whose result was lost is never
 * made again by itself.
 */
export async function createOnce<Result>(once: CreateOnce, create: () => Promise<Result>): Promise<Result> {
  const { attempt } = once;
  if (markBefore() === 'sent') throw quarantine(once, 'the worker that sent it was lost');
  if (!isUnsent(attempt)) throw quarantine(once, 'an earlier attempt did not report whether it had sent it');
  await recordMark(attempt, once.runs, { mark: 'sent', what: 'the intent to send CREATE' });
  try {
    return await create();
  } catch (error) {
    if (!isPluginError(error))
      throw attempt.detach.aborted ? error : quarantine(once, messageOf(error), error);
    if (error.kind === 'NotReady') markUnsent(attempt);
    if (error.kind === 'NotReady' || refusals.includes(error.kind)) throw error;
    throw quarantine(once, error.message, error);
  }
}

/**
 * Whether it is certain that no earlier attempt has sent it: there is none, or the last one has said so at its end. What
 * an attempt says then stays true, and only the next one believes it, so nothing is gained by sending it again. Anyone
 * who may call the server can remove or replace what attempts have recorded.
 */
function isUnsent({ isFirst, number }: Attempt): boolean {
  const before = markBefore();
  return isFirst || (isJsonObject(before) && before['unsent'] === number - 1);
}

/** Notes at the end of an attempt that it has not sent it. */
function markUnsent(attempt: Attempt): void {
  attempt.mark({ unsent: attempt.number });
}

/** Makes an attempt that fails before it sends CREATE say so. */
export async function notingUnsent<Result>(attempt: Attempt, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (attempt.marked() !== 'sent' && isUnsent(attempt)) markUnsent(attempt);
    throw error;
  }
}

function quarantine({ provider, hostname, cluster }: CreateOnce, what: string, cause?: unknown): PluginError {
  return new PluginError(
    'UnknownOutcome',
    `CREATE of machine ${hostname} was sent to provider ${provider.name}, and it is unknown whether it was made (${what}). ` +
      `Provider type ${provider.type} cannot tell, so it is not repeated. Look there for a machine named ${hostname}, delete it if there is one, then: heddle retry ${cluster}`,
    cause === undefined ? {} : { cause },
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
