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
import { coreQueue } from '../model/names.js';
import { HeddleError } from './errors.js';

/**
 * Wait, in ms, for an answer of server or worker; longer only while a worker is known to be there: it may be
 * busy.
 */
export const answerMs = 3_000;
const usualBusyMs = 12_000;
/** Wait, in ms, for the server to say who works: a busy one is not taken for none. */
const pollersMs = 5_000;

/** gRPC status codes, as the protocol numbers them. */
const grpc = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
  permissionDenied: 7,
} as const;

/** Clients that wait longer for busy workers. */
const patience = new WeakMap<Client, number>();

/** Lets calls of this client wait so long, in ms, for a worker that is known to be there. */
export function setPatience(temporal: Client, busyMs: number): void {
  patience.set(temporal, busyMs);
}

/** Makes one call with a deadline, and turns what went wrong into words. */
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
    // What the call still brings is of no interest any more.
    answer.catch(() => undefined);
    throw await explain(temporal, what, error);
  } finally {
    silence.abort();
  }
}

/** Rejects when nobody answered in time and no worker is there who might. */
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

async function explain(temporal: Client, what: string, error: unknown): Promise<HeddleError> {
  if (error instanceof HeddleError) return error;
  if (error instanceof WorkflowNotFoundError)
    return new HeddleError(
      'NotFound',
      `${what}: there is no such cluster; 'heddle list' shows those there are`,
      { cause: error },
    );
  if (error instanceof WorkflowUpdateFailedError) {
    return new HeddleError('Refused', error.cause?.message ?? error.message, { cause: error });
  }
  const refused = findRefused(error);
  if (refused !== undefined) return new HeddleError('Encryption', `${what}: ${refused}`, { cause: error });
  if (error instanceof QueryNotRegisteredError)
    return new HeddleError(
      'NoWorker',
      `${what}: the worker could not answer this; is it of this version? Its log says more`,
      { cause: error },
    );
  const code = codeOf(error);
  if (code === grpc.unauthenticated || code === grpc.permissionDenied)
    return new HeddleError('Refused', `${what}: the server does not permit it: ${messageOf(error)}`, {
      cause: error,
    });
  if (code === grpc.notFound)
    return new HeddleError('NotFound', `${what}: ${messageOf(error)}`, { cause: error });
  const timedOut =
    error instanceof SilenceError ||
    code === grpc.deadlineExceeded ||
    code === grpc.cancelled ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError;
  // A query is refused at once when no worker polled for a while, or when one died in the middle of the
  // workflow's task.
  const unattended =
    code === grpc.failedPrecondition &&
    /no poller|Workflow Task in failed state/.test(
      messageOf(error instanceof ServiceError ? error.cause : error),
    );
  if (timedOut || unattended || code === grpc.unavailable) return explainSilence(temporal, what, error);
  return new HeddleError('Failed', `${what}: ${messageOf(error)}`, { cause: error });
}

/** Nobody answered: is it the server or the workers? */
async function explainSilence(temporal: Client, what: string, cause: unknown): Promise<HeddleError> {
  const { connection } = temporal;
  const address = connection instanceof Connection ? connection.options.address : 'its address';
  try {
    const pollers = await temporal.withDeadline(Date.now() + pollersMs, () => countPollers(temporal));
    const seen =
      pollers === 0 ? 'no worker polls' : 'a worker was there a short while ago, but none answers on';
    return new HeddleError(
      'NoWorker',
      `${what}: ${seen} task queue "${coreQueue}" of ${address}; start one with 'heddle worker' (or 'heddle dev'), then try again`,
      { cause },
    );
  } catch {
    return new HeddleError(
      'NoServer',
      `${what}: no Temporal server answers at ${address}; start one with 'heddle dev', or set TEMPORAL_ADDRESS`,
      { cause },
    );
  }
}

/** Workers that polled the core queue in the last minutes. */
export async function countPollers(temporal: Client, queue = coreQueue): Promise<number> {
  const described = await temporal.workflowService.describeTaskQueue({
    namespace: temporal.options.namespace,
    taskQueue: { name: queue },
    taskQueueType: 1,
  });
  return described.pollers?.length ?? 0;
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
  // Temporal's client says what it wanted, and the server why it did not come to that.
  if (error instanceof ServiceError && error.cause instanceof Error)
    return `${error.message}: ${error.cause.message}`;
  return error instanceof Error ? error.message : String(error);
}
