import type { Client } from '@temporalio/client';
import { call } from './call.js';
import { decodeFailure } from './decode-history.js';
import { HeddleError } from './errors.js';
import { protoMs } from './proto-time.js';

/** A workflow whose tasks fail: no worker can continue it. */
export interface StuckWorkflow {
  readonly workflowId: string;
  readonly runId: string;
  /** Failures in a row. */
  readonly failures: number;
  /** RFC 3339. */
  readonly since: string;
  readonly failure: string;
}

/** Failures in a row; a single one may be that of a worker that was shut down. */
export const neededFailures = 2;

/** The search attribute in which the server keeps what is wrong with a workflow (version 1.30 and later). */
export const problemsAttribute = 'TemporalReportedProblems';

/** Ids of running workflows whose tasks fail again and again, as the server's index shows them. */
export async function listStuck(temporal: Client): Promise<readonly string[]> {
  const { namespace } = temporal.options;
  const query = `${problemsAttribute} IS NOT NULL AND ExecutionStatus = 'Running'`;
  const { executions } = await call(temporal, 'list of failing workflows', () =>
    temporal.workflowService.listWorkflowExecutions({ namespace, query, pageSize: 200 }),
  );
  return executions.flatMap(({ execution }) => execution?.workflowId ?? []);
}

/** Undefined for a workflow that workers continue, or whose task only timed out. */
export async function findStuck(temporal: Client, workflowId: string): Promise<StuckWorkflow | undefined> {
  const { namespace } = temporal.options;
  const { pendingWorkflowTask: task, workflowExecutionInfo: info } = await call(temporal, workflowId, () =>
    temporal.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
  );
  const failures = (task?.attempt ?? 1) - 1;
  if (failures < neededFailures) return undefined;
  const failure = await lastFailure(temporal, workflowId);
  if (failure === undefined) return undefined;
  const since = task?.originalScheduledTime ?? task?.scheduledTime;
  const sinceMs = since == null ? Date.now() : protoMs(since);
  const runId = info?.execution?.runId ?? '';
  return { workflowId, runId, failures, since: new Date(sinceMs).toISOString(), failure };
}

/**
 * The failure of the workflow, or of its task: only the first of consecutive ones is recorded; it is at the
 * end of the history. Undefined if the workflow went on since, so that its task only timed out.
 */
export async function lastFailure(temporal: Client, workflowId: string): Promise<string | undefined> {
  const { namespace } = temporal.options;
  const { history } = await temporal.workflowService.getWorkflowExecutionHistoryReverse({
    namespace,
    execution: { workflowId },
    maximumPageSize: 10,
  });
  for (const event of history?.events ?? []) {
    if (event.workflowTaskCompletedEventAttributes) return undefined;
    const failed = event.workflowTaskFailedEventAttributes ?? event.workflowExecutionFailedEventAttributes;
    if (!failed?.failure) continue;
    return decodeFailure(temporal, failed.failure).then(
      ({ message }) => message,
      (error: unknown) =>
        `its message cannot be decrypted here: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return undefined;
}

/** Groups are recovered with their cluster. */
export function recoverCommand(workflowId: string): string {
  return `heddle recover ${workflowId.replace(/^cluster\/([^/]+)(\/group\/.*)?$/, '$1')}`;
}

/**
 * For a call that got no answer: the reason, if the workflow is stuck or has failed; otherwise the error
 * itself.
 */
export async function explainStuck(temporal: Client, workflowId: string, error: unknown): Promise<unknown> {
  if (!(error instanceof HeddleError) || (error.code !== 'NoWorker' && error.code !== 'Failed')) return error;
  const stuck = await findStuck(temporal, workflowId).catch(() => undefined);
  if (stuck === undefined) return (await findFailed(temporal, workflowId, error)) ?? error;
  return new HeddleError('NoWorker', textOfStuck(stuck), { cause: error, next: recoverCommand(workflowId) });
}

/** A workflow that failed answers nothing, however long a caller waits. */
async function findFailed(
  temporal: Client,
  workflowId: string,
  cause: HeddleError,
): Promise<HeddleError | undefined> {
  if (cause.code !== 'NoWorker') return undefined;
  const why = await temporal.workflow
    .getHandle(workflowId)
    .describe()
    .then(({ status }) => (status.name === 'FAILED' ? lastFailure(temporal, workflowId) : undefined))
    .catch(() => undefined);
  return why === undefined
    ? undefined
    : new HeddleError('Failed', `workflow ${workflowId} failed: ${why}`, { cause });
}

export function textOfStuck({ workflowId, failures, failure }: StuckWorkflow): string {
  return `no worker can continue workflow ${workflowId}: its task failed ${failures} times in a row: ${failure}`;
}
