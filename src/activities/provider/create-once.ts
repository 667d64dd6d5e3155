import { ApplicationFailure } from '@temporalio/common';
import { CancelledFailure } from '@temporalio/activity';
import type { AnyAction } from '../../model/action.js';
import { skewMs } from '../../model/messages/envelope.js';
import { notSent, unknownOutcome, type EngineKind, type FailureDetails } from '../../model/node/failure.js';
import { confirmAbsenceText } from '../../model/node/unknown-machine.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import { isPluginError, PluginError, type FailureKind } from '../../plugins/errors.js';
import type { RegisteredProvider } from '../../plugins/registry.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import { recordMark } from '../recorded-mark.js';
import type { TaskCall } from '../task-call.js';
import type { ProviderCall } from './provider-call.js';
import { resetTime } from './superseded.js';

/** What a provider says before it makes anything: these leave no doubt. */
const refusals: readonly FailureKind[] = ['NotReady', 'Capacity', 'Quota', 'Auth', 'Invalid'];

type CreateCall = Pick<ProviderCall, 'parts' | 'request' | 'attempt' | 'plugin'>;

/** CREATE at a provider that cannot be asked what came of a call: a task sends it once. */
export function isSentOnce(parts: ActivityParts, action: AnyAction, request: TaskRequest): boolean {
  return (
    action === 'CREATE' && request.adopt !== true && pluginWithUnknownOutcomes(parts, request) !== undefined
  );
}

/** The plugin of the task's provider, if it cannot be asked. */
function pluginWithUnknownOutcomes(
  { providers, registry }: ActivityParts,
  { provider: { name } }: TaskRequest,
): RegisteredProvider | undefined {
  const type = providers[name]?.type;
  const plugin = type === undefined ? undefined : registry.provider(type);
  return plugin?.descriptor.idempotency === 'none' ? plugin : undefined;
}

/**
 * Refuses what must not follow a CREATE whose outcome is unknown at a provider that cannot be
 * asked: another CREATE, and a DELETE that has nothing to find the machine by. Only the first
 * attempt of a task may send CREATE: anyone who may call the server can remove or replace what
 * attempts have recorded, and count them anew.
 */
export async function refuseUnknownCreate({ parts, action, request, attempt }: TaskCall): Promise<void> {
  const plugin = pluginWithUnknownOutcomes(parts, request);
  if (plugin === undefined) return;
  const isBlindDelete =
    action === 'DELETE' &&
    request.swept !== true &&
    typeof request.config['providerid'] !== 'string' &&
    !plugin.abilities.includes('find');
  if (!isBlindDelete && !isSentOnce(parts, action, request)) return;
  const why =
    action === 'CREATE' && !attempt.isFirst
      ? 'an earlier attempt did not report whether it sent the request'
      : await unconfirmedCreate(parts, request);
  if (why !== undefined) throw unknownCreate({ request, plugin }, why);
}

/**
 * Why a CREATE may have been sent since a person last confirmed the machine's absence; undefined if none can.
 */
async function unconfirmedCreate(parts: ActivityParts, request: TaskRequest): Promise<string | undefined> {
  const { createBegun, absenceConfirmedAt } = request;
  if (createBegun === true && absenceConfirmedAt === undefined)
    return 'an earlier task did not report its result';
  const resetAt = await resetTime(parts);
  // The clock of the client may be ahead of the server's.
  if (resetAt === undefined || (absenceConfirmedAt !== undefined && absenceConfirmedAt > resetAt + skewMs))
    return undefined;
  const at = new Date(resetAt).toISOString();
  return `the workflow was reset at ${at}, and its earlier actions are unknown; a confirmation counts from one minute after the reset`;
}

/**
 * Sends CREATE. The server must take a heartbeat immediately before: an attempt that it has
 * replaced, or whose run was reset, sends nothing.
 */
export async function createOnce<Result>(call: CreateCall, create: () => Promise<Result>): Promise<Result> {
  const { attempt, parts } = call;
  await recordMark(parts, attempt, { mark: 'sent', what: 'the intent to send CREATE' });
  try {
    return await create();
  } catch (error) {
    if (!isPluginError(error))
      throw attempt.detach.aborted ? error : unknownCreate(call, messageOf(error), error);
    if (!refusals.includes(error.kind)) throw unknownCreate(call, error.message, error);
    attempt.mark(null);
    throw error;
  }
}

/**
 * How a CREATE that a task sends once ends, if this attempt made nothing. A further attempt could not
 * know this: the task ends, and its workflow, which believes only what was sealed, schedules another one.
 */
export function endUnsent(failure: Error, attempt: Attempt): Error {
  if (!attempt.isFirst || attempt.marked() === 'sent') return failure;
  if (failure instanceof CancelledFailure)
    return unsent(failure.message, { kind: 'Cancelled' satisfies EngineKind, againMs: 0 });
  if (!(failure instanceof ApplicationFailure) || failure.type === unknownOutcome) return failure;
  const { message, type, nonRetryable, nextRetryDelay, details, category, cause } = failure;
  const [first] = (details ?? []) as readonly FailureDetails[];
  const kind = type ?? ('Internal' satisfies EngineKind);
  return nonRetryable === true
    ? ApplicationFailure.create({
        message,
        type: kind,
        nonRetryable,
        details: [{ ...first, madeNothing: true } satisfies FailureDetails],
        category: category ?? undefined,
        cause,
      })
    : unsent(message, { kind, againMs: typeof nextRetryDelay === 'number' ? nextRetryDelay : 0 }, failure);
}

function unsent(
  message: string,
  { kind, againMs }: NonNullable<FailureDetails['unsent']>,
  { details, category, cause }: Partial<ApplicationFailure> = {},
): ApplicationFailure {
  const [first] = (details ?? []) as readonly FailureDetails[];
  return ApplicationFailure.create({
    message,
    type: notSent,
    nonRetryable: true,
    details: [{ ...first, madeNothing: true, unsent: { kind, againMs } } satisfies FailureDetails],
    category: category ?? undefined,
    cause,
  });
}

function unknownCreate(
  { request, plugin }: Pick<CreateCall, 'request' | 'plugin'>,
  what: string,
  cause?: unknown,
): PluginError {
  const { provider, config, nodeId } = request;
  const hostname = typeof config['hostname'] === 'string' ? config['hostname'] : nodeId;
  return new PluginError(
    'UnknownOutcome',
    `CREATE of machine ${hostname} was sent to provider ${provider.name}, and it is unknown whether the machine was created (${what}). ` +
      `Provider type ${plugin.descriptor.name} cannot find out, so CREATE is not repeated. ${confirmAbsenceText(request)}`,
    cause === undefined ? {} : { cause },
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
