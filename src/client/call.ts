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

/** Longest wait for an answer, in ms; longer while a worker polls, which may be busy. */
const answerMs = 3_000;
const usualBusyMs = 12_000;
/** Deadline of the call that lists the pollers, in ms. */
const pollersMs = 5_000;

/** Clients with another wait for busy workers, in ms. */
const patience = new WeakMap<Client, number>();

/** Sets how long calls of this client wait while a worker polls, in ms. */
export function setPatience(temporal: Client, busyMs: number): void {
  patience.set(temporal, busyMs);
}

/** Makes one call with a deadline. @throws HeddleError that explains what went wrong. */
export async function call<Result>(
  temporal: Client,
  what: string,
  make: () => Promise<Result>,
  waitMs = answerMs,
): Promise<Result> {
  const answer = temporal.withDeadline(
    Date.now() + Math.max(waitMs, patience.get(temporal) ?? usualBusyMs),
    make,
  );
  const silence = new AbortController();
  try {
    return await Promise.race([answer, untilSilent(temporal, waitMs, silence.signal)]);
  } catch (error) {
    // The call may still reject.
    answer.catch(() => undefined);
    throw await explain(temporal, what, error);
  } finally {
    silence.abort();
  }
}

/** Rejects if there is no answer in time, unless a worker polls, which may be busy. */
async function untilSilent(temporal: Client, waitMs: number, signal: AbortSignal): Promise<never> {
  const given = await pause(waitMs, undefined, { signal }).then(
    () => true,
    () => false,
  );
  const isBusy =
    given &&
    (await temporal
      .withDeadline(Date.now() + Math.max(pollersMs, patience.get(temporal) ?? 0), () =>
        countPollers(temporal),
      )
      .catch(() => 0)) > 0;
  if (given && !isBusy) throw new SilenceError();
  return new Promise<never>(() => undefined);
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
    return failure('NotFound', `${what}: there is no such cluster; 'heddle list' shows those there are`);
  if (cause instanceof WorkflowUpdateFailedError)
    return failure('Refused', cause.cause?.message ?? cause.message);
  const refused = findRefused(cause);
  if (refused !== undefined) return failure('Encryption', `${what}: ${refused}`);
  if (cause instanceof QueryNotRegisteredError)
    return failure(
      'NoWorker',
      `${what}: the worker could not answer this; is it of this version? Its log says more`,
    );
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
    const pollers = await temporal.withDeadline(Date.now() + pollersMs, () => countPollers(temporal));
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

/** Workers that polled a queue in the last minutes. */
export async function countPollers(temporal: Client, queue = workflowQueue): Promise<number> {
  const described = await temporal.workflowService.describeTaskQueue({
    namespace: temporal.options.namespace,
    taskQueue: { name: queue },
    taskQueueType: 1,
  });
  return described.pollers?.length ?? 0;
}

/** Whether this program closed the connection, so that no further call can succeed. */
export function isClosed(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.message.includes('Channel has been shut down')) return true;
  }
  return false;
}

/** The text of a payload that was refused, somewhere in the chain of causes. */
function findRefused(error: unknown): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'PayloadRefusedError' || cause.name === 'KeyError') return cause.message;
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
