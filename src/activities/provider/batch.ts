import { setMaxListeners } from 'node:events';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { Activities } from '../../model/activities.js';
import type { EngineKind, FailureDetails } from '../../model/node/failure.js';
import { handOver } from '../failures.js';
import type { TaskOutcome, TaskRequest } from '../../model/node/task-request.js';
import { taskId } from '../../model/names.js';
import { mergePayload } from '../../model/node/payload.js';
import {
  batchActions,
  batchName,
  type BatchAction,
  type BatchResult,
  type BatchRequest,
} from '../../model/node/batch.js';

/** Carries out one task, as an attempt of its own; `within` ends the attempt, not the task. */
export type CarryOut = (
  action: BatchAction | 'CONFIRM',
  request: TaskRequest,
  within?: AbortSignal,
) => Promise<TaskOutcome>;

/** Longest wait for machines just created, in ms; slower ones get CONFIRM tasks of their own. */
const confirmMs = 2_000;

export type BatchActivities = Pick<Activities, `${BatchAction}_BATCH`>;

/**
 * The activities CREATE_BATCH and DELETE_BATCH: tasks of several nodes at once, for a server needs as
 * much time for an activity as for hundreds of calls. Each task is attempted as it would be by itself, and
 * has its own end.
 */
export function createBatchActivities(carryOut: CarryOut): BatchActivities {
  const entries = batchActions.map(
    (action) =>
      [batchName(action), ({ requests }: BatchRequest) => carryBatch(carryOut, action, requests)] as const,
  );
  return Object.fromEntries(entries) as BatchActivities;
}

async function carryBatch(
  carryOut: CarryOut,
  action: BatchAction,
  requests: readonly TaskRequest[],
): Promise<readonly BatchResult[]> {
  const { cancellationSignal } = Context.current();
  // Each attempt listens.
  setMaxListeners(0, cancellationSignal);
  const ends = await Promise.all(requests.map((request) => carry(carryOut, action, request)));
  // The worker shuts down or lost the activity: another attempt continues for all of them.
  const isCut = cancellationSignal.aborted && Context.current().cancellationDetails?.cancelRequested !== true;
  if (isCut && !ends.every((end) => 'outcome' in end))
    throw handOver(`${action} of ${requests.length} nodes`);
  return ends;
}

async function carry(carryOut: CarryOut, action: BatchAction, request: TaskRequest): Promise<BatchResult> {
  try {
    const outcome = await carryOut(action, request);
    const confirmed = action === 'CREATE' ? await confirmAtOnce(carryOut, request, outcome) : undefined;
    return { outcome, confirmed };
  } catch (error) {
    return endOf(error);
  }
}

/** CONFIRM for a machine that is ready in a moment. Any other outcome is left to its own task. */
async function confirmAtOnce(
  carryOut: CarryOut,
  created: TaskRequest,
  { result = {} }: TaskOutcome,
): Promise<TaskOutcome | undefined> {
  const { clusterUid, nodeId, incarnation, operation, config } = created;
  const request = {
    ...created,
    run: 1,
    taskId: taskId({ clusterUid, nodeId, incarnation, action: 'CONFIRM', operation }),
    config: mergePayload(config, result),
  };
  return carryOut('CONFIRM', request, AbortSignal.timeout(confirmMs)).catch(() => undefined);
}

function endOf(error: unknown): BatchResult {
  if (error instanceof CancelledFailure) return { cancelled: true };
  // The others' ends must not be lost over a fault of one.
  if (!(error instanceof ApplicationFailure))
    return {
      failure: {
        kind: 'Internal' satisfies EngineKind,
        message: 'the attempt did not finish',
        details: {},
        againMs: 1_000,
      },
    };
  const { type, message, details, nonRetryable, nextRetryDelay } = error;
  const known: unknown = details?.[0];
  return {
    failure: {
      kind: type ?? ('Internal' satisfies EngineKind),
      message,
      details: typeof known === 'object' && known !== null ? (known as FailureDetails) : {},
      ...(nonRetryable === true
        ? {}
        : { againMs: typeof nextRetryDelay === 'number' ? nextRetryDelay : 1_000 }),
    },
  };
}
