import type { Client } from '@temporalio/client';
import {
  claimsWorkflowType,
  clusterWorkflowType,
  groupWorkflowType,
  planWorkflowType,
  workflowQueues,
} from '../model/names.js';
import { listExecutions } from '../server/list-executions.js';
import type { HistoryToReplay } from './replay-histories.js';

export interface RunningOptions {
  /** How many histories are fetched ahead; bounds memory. */
  readonly ahead?: number;
  /** How many workflows are listed with one call. */
  readonly pageSize?: number;
  /** Makes one call, with the caller's deadlines and error messages. */
  readonly call?: <Result>(what: string, make: () => Promise<Result>) => Promise<Result>;
}

/**
 * Histories of all running Heddle workflows, fetched while they are replayed; only the latest run of each.
 */
export async function* runningHistories(
  temporal: Client,
  options: RunningOptions = {},
): AsyncGenerator<HistoryToReplay> {
  const { ahead = 3, pageSize = 200, call = (_what, make) => make() } = options;
  const fetched: Promise<HistoryToReplay | undefined>[] = [];
  const take = async function* (): AsyncGenerator<HistoryToReplay> {
    const history = await fetched.shift();
    if (history !== undefined) yield history;
  };
  for await (const run of listRunning(temporal, pageSize, call)) {
    const fetching = fetch(temporal, run, call);
    // Awaited in its turn; until then a failure must not end the process.
    fetching.catch(() => undefined);
    fetched.push(fetching);
    if (fetched.length > ahead) yield* take();
  }
  while (fetched.length > 0) yield* take();
}

interface Run {
  readonly workflowId: string;
  readonly runId: string;
}

type Call = NonNullable<RunningOptions['call']>;

/** By type, and by task queue: a workflow of a type that only another build has waits on our queues too. */
async function* listRunning(temporal: Client, pageSize: number, call: Call): AsyncGenerator<Run> {
  const listOf = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');
  const types = listOf([clusterWorkflowType, groupWorkflowType, claimsWorkflowType, planWorkflowType]);
  const query = `(WorkflowType IN (${types}) OR TaskQueue IN (${listOf(workflowQueues)})) AND ExecutionStatus = 'Running'`;
  const { namespace } = temporal.options;
  const executions = listExecutions(temporal.workflowService, {
    namespace,
    query,
    pageSize,
    call: (make) => call('running workflows', make),
  });
  for await (const { execution } of executions) {
    if (execution?.workflowId && execution.runId)
      yield { workflowId: execution.workflowId, runId: execution.runId };
  }
}

/** Undefined for a run that the server has forgotten since it was listed. */
async function fetch(
  temporal: Client,
  { workflowId, runId }: Run,
  call: Call,
): Promise<HistoryToReplay | undefined> {
  try {
    const history = await call(`history of ${workflowId}`, () =>
      temporal.workflow.getHandle(workflowId, runId).fetchHistory(),
    );
    return { history, workflowId, runId };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** By its code, which is the same in gRPC's error and in ours. */
function isGone(error: unknown): boolean {
  const grpcNotFound = 5;
  return (
    error instanceof Error && 'code' in error && (error.code === grpcNotFound || error.code === 'NotFound')
  );
}
