import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import {
  Connection,
  isGrpcServiceError,
  QueryNotRegisteredError,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type Client,
} from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { createNamespaceCommand, missingNamespaceText } from '../model/endpoint.js';
import { grpcStatus } from '../model/grpc-status.js';
import { workflowQueue, searchAttributes } from '../model/names.js';
import { HeddleError, type HeddleErrorCode } from './errors.js';
import { pollsOf, serverOf, workersOf } from './workers.js';

/** Longest wait for an answer while no worker polls, in ms. */
const answerMs = 3_000;
/** Longest wait without a sign of life of a worker, in ms. */
const usualBusyMs = 12_000;
/** Longest wait for an entity while workers show signs of life, in ms. */
export const longestMs = 15 * 60_000;
/** Deadline of the calls that poll for signs of life, and the smallest pause between them, in ms. */
const pollMs = 5_000;
const leastPollMs = 250;

/** Workflow tasks of this attempt and later ones fail for a reason that waiting does not remove. */
const failingAttempt = 5;

/** Clients with another wait for busy workers, in ms. */
const patience = new WeakMap<Client, number>();

/** Sets how long calls of this client wait for a sign of life of a worker, in ms. */
export function setPatience(temporal: Client, busyMs: number): void {
  patience.set(temporal, busyMs);
}

export interface CallOptions {
  /** Least wait for an answer, in ms. */
  readonly waitMs?: number;
  /** The entity that answers. The call then waits for a busy worker as long as one polls for tasks. */
  readonly workflowId?: string;
}

/** Makes one call with a deadline. @throws HeddleError that explains what went wrong. */
export async function call<Result>(
  temporal: Client,
  what: string,
  make: () => Promise<Result>,
  { waitMs = answerMs, workflowId }: CallOptions = {},
): Promise<Result> {
  const given = new AbortController();
  // The SDK listens once for each request, and a query may be repeated often.
  setMaxListeners(0, given.signal);
  const busyMs = patience.get(temporal) ?? usualBusyMs;
  const limitMs = workflowId === undefined ? Math.max(waitMs, busyMs) : longestMs;
  const answer = temporal.withAbortSignal(given.signal, () =>
    temporal.withDeadline(Date.now() + limitMs, make),
  );
  try {
    return await Promise.race([answer, untilSilent(temporal, { waitMs, workflowId, busyMs }, given.signal)]);
  } catch (error) {
    // The call may still reject.
    answer.catch(() => undefined);
    throw await explain(temporal, what, error);
  } finally {
    given.abort();
  }
}

/** Rejects if there is no answer in time, unless a worker polls, which may be busy. */
async function untilSilent(
  temporal: Client,
  { waitMs, workflowId, busyMs }: CallOptions & { readonly waitMs: number; readonly busyMs: number },
  signal: AbortSignal,
): Promise<never> {
  const never = new Promise<never>(() => undefined);
  const begun = performance.now();
  let lived = begun;
  let last: number | undefined;
  const everyMs = Math.max(leastPollMs, Math.min(pollMs, busyMs));
  // A sign is one that is newer than the last, so a long wait consists of several polls.
  const firstMs = workflowId === undefined ? waitMs : Math.min(waitMs, pollMs);
  for (let pauseMs = firstMs; ; pauseMs = everyMs) {
    await pause(pauseMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return never;
    const newest = await temporal
      .withDeadline(Date.now() + Math.max(pollMs, busyMs), () => lastSign(temporal, last))
      .catch(() => undefined);
    if (signal.aborted) return never;
    if (newest === undefined) {
      if (performance.now() - begun < waitMs - leastPollMs) continue;
      throw new SilenceError();
    }
    if (workflowId === undefined) return never;
    // A worker that was killed shows no further sign, though the server lists it for minutes.
    if (newest > (last ?? newest) && !(await isFailing(temporal, workflowId))) lived = performance.now();
    last = newest;
    if (performance.now() - lived > Math.max(waitMs, busyMs)) throw new SilenceError();
  }
}

/**
 * The last sign of life of a worker, in ms by the server's clock: its last poll for workflow tasks, or the
 * last that it published, if it has not polled since `before`. Undefined if no worker has polled in the last
 * minutes.
 */
async function lastSign(temporal: Client, before: number | undefined): Promise<number | undefined> {
  const polls = await pollTimes(temporal);
  if (polls.length === 0) return undefined;
  const polled = Math.max(...polls);
  if (before === undefined || polled > before) return polled;
  // A worker whose slots are all in use does not poll.
  return Math.max(
    polled,
    ...(await workersOf(serverOf(temporal), workflowQueue, 'workflows')).map(({ at }) => at),
  );
}

/** Whether no worker can carry out the workflow's task, as often as it is repeated. */
async function isFailing(temporal: Client, workflowId: string): Promise<boolean> {
  const { namespace } = temporal.options;
  const described = await temporal
    .withDeadline(Date.now() + pollMs, () =>
      temporal.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
    )
    .catch(() => undefined);
  return (described?.pendingWorkflowTask?.attempt ?? 0) >= failingAttempt;
}

class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

async function explain(temporal: Client, what: string, cause: unknown): Promise<HeddleError> {
  if (cause instanceof HeddleError) return cause;
  const failure = (code: HeddleErrorCode, message: string): HeddleError =>
    new HeddleError(code, message, { cause });
  const { namespace } = temporal.options;
  if (isClosed(cause)) return failure('Failed', `${what}: the connection to the server was closed`);
  if (isNamespaceMissing(cause, namespace))
    return new HeddleError('Invalid', missingNamespaceText(namespace), {
      cause,
      next: createNamespaceCommand(namespace),
    });
  if (cause instanceof WorkflowNotFoundError)
    return failure(
      'NotFound',
      `${what}: the cluster does not exist; run 'heddle list' to see the existing ones`,
    );
  if (cause instanceof WorkflowUpdateFailedError)
    return failure('Refused', cause.cause?.message ?? cause.message);
  const refused = findRefused(cause);
  if (refused !== undefined)
    return new HeddleError('Encryption', `${what}: ${refused.message}`, {
      cause,
      ...(refused.name === 'MissingKeyError' ? { next: 'heddle keys import FILE' } : {}),
    });
  if (cause instanceof QueryNotRegisteredError)
    return failure('NoWorker', `${what}: the worker could not answer this; check its version and its log`);
  const code = codeOf(cause);
  const message = messageOf(cause);
  if (code === grpcStatus.unauthenticated || code === grpcStatus.permissionDenied)
    return failure('Refused', `${what}: the server does not permit it: ${message}`);
  if (code === grpcStatus.invalidArgument && message.includes(searchAttributes.labels))
    return new HeddleError(
      'Refused',
      `${what}: the server does not index labels yet; register ${searchAttributes.labels} first`,
      { cause, next: 'heddle server setup' },
    );
  if (code === grpcStatus.notFound) return failure('NotFound', `${what}: ${message}`);
  const silent =
    cause instanceof SilenceError ||
    cause instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    code === grpcStatus.deadlineExceeded ||
    code === grpcStatus.cancelled ||
    code === grpcStatus.unavailable;
  // The server rejects a query at once when no worker has polled for a while, or when one died during the
  // workflow's task.
  const unattended =
    code === grpcStatus.failedPrecondition &&
    /no poller|Workflow Task in failed state/.test(
      messageOf(cause instanceof ServiceError ? cause.cause : cause),
    );
  return silent || unattended
    ? explainSilence(temporal, what, cause)
    : failure('Failed', `${what}: ${message}`);
}

/** The SDK translates the server's answer for some of its calls. */
function isNamespaceMissing(cause: unknown, namespace: string): boolean {
  if (cause instanceof NamespaceNotFoundError) return true;
  return (
    codeOf(cause) === grpcStatus.notFound && messageOf(cause).includes(`Namespace ${namespace} is not found`)
  );
}

/** Finds out whether the server or the workers do not answer. */
async function explainSilence(temporal: Client, what: string, cause: unknown): Promise<HeddleError> {
  const { connection } = temporal;
  const address = connection instanceof Connection ? connection.options.address : 'its address';
  try {
    const { length: pollers } = await temporal.withDeadline(Date.now() + pollMs, () => pollTimes(temporal));
    const queue = `task queue "${workflowQueue}" of ${address}`;
    const seen =
      pollers === 0
        ? `no worker polls ${queue}; start one`
        : `no worker of ${queue} has answered in time: those of the last minutes are busy or have ended. Try again, or start one`;
    return new HeddleError('NoWorker', `${what}: ${seen} with 'heddle worker' (or 'heddle dev')`, {
      cause,
      isBusy: pollers > 0,
    });
  } catch {
    return new HeddleError(
      'NoServer',
      `${what}: no Temporal server answers at ${address}; start one with 'heddle dev', or set TEMPORAL_ADDRESS`,
      { cause },
    );
  }
}

/** When each worker of the last minutes polled for workflow tasks, in ms by the server's clock. */
async function pollTimes(temporal: Client): Promise<readonly number[]> {
  return (await pollsOf(serverOf(temporal), workflowQueue, 'workflows')).map(({ at }) => at);
}

/** Whether this program closed the connection, so that no further call can succeed. */
export function isClosed(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.message.includes('Channel has been shut down')) return true;
  }
  return false;
}

/** Why a payload was refused, somewhere in the chain of causes. */
function findRefused(error: unknown): Error | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (['PayloadRefusedError', 'KeyError', 'MissingKeyError'].includes(cause.name)) return cause;
  }
  return undefined;
}

function codeOf(error: unknown): number | undefined {
  if (isGrpcServiceError(error)) return error.code;
  if (error instanceof ServiceError && isGrpcServiceError(error.cause)) return error.cause.code;
  return undefined;
}

function messageOf(error: unknown): string {
  // The client's message names the call, the server's the reason.
  if (error instanceof ServiceError && error.cause instanceof Error)
    return `${error.message}: ${error.cause.message}`;
  return error instanceof Error ? error.message : String(error);
}
