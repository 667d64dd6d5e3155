import { type Client, isGrpcServiceError } from '@temporalio/client';
import type {
  ClusterRecord,
  ClusterRecords,
  LivingCluster,
  RecordStatus,
} from '../activities/sweep/cluster-records.js';
import type { WorkflowRuns } from '../activities/parts.js';
import type { Origin } from '../model/sweep/sweep.js';
import {
  clusterWorkflowType,
  imageWorkflowType,
  machineWorkflowType,
  ownerWorkflowId,
  poolWorkflowType,
} from '../model/names.js';
import { findExecutions, readMemo } from './workflow-runs.js';
import { clusterMessages } from '../workflows/messages.js';
import { read } from '../client/read.js';

const patienceMs = 10_000;

/** Asks the Temporal server, and the workflows of clusters through it. */
export function readClusterRecords(
  temporal: Client,
  { resetAt }: Pick<WorkflowRuns, 'resetAt'>,
): ClusterRecords {
  const patiently = <Value>(work: () => Promise<Value>): Promise<Value> =>
    temporal.withDeadline(Date.now() + patienceMs, work);
  return {
    record: (clusterName) => patiently(() => recordOf(temporal, clusterName)),
    uids: (clusterName) => uidsOf(temporal, clusterName),
    living: () => living(temporal),
    resetAt: (workflowId) => resetAt(workflowId),
    origins: () => readOrigins(temporal),
    owners: (workflowId, machines) =>
      patiently(() =>
        read(temporal.workflow.getHandle(workflowId), clusterMessages.queries.owners, machines),
      ),
    disown: (workflowId, machines) =>
      patiently(() =>
        temporal.workflow
          .getHandle(workflowId)
          .executeUpdate(clusterMessages.updates.disown, { args: [machines] }),
      ),
  };
}

/** Workflows that have machines. */
const ownerTypes: readonly string[] = [
  clusterWorkflowType,
  imageWorkflowType,
  machineWorkflowType,
  poolWorkflowType,
];
const isOwner = `WorkflowType IN (${ownerTypes.map((type) => `'${type}'`).join(', ')})`;

/** Final states; any other workflow is running, or continued by another run. */
const closed: Readonly<Record<string, RecordStatus>> = {
  COMPLETED: 'ended',
  CANCELLED: 'ended',
  FAILED: 'cut',
  TERMINATED: 'cut',
  TIMED_OUT: 'cut',
};

async function recordOf(temporal: Client, clusterName: string): Promise<ClusterRecord> {
  const workflowId = ownerWorkflowId(clusterName);
  try {
    const { status, type, raw } = await temporal.workflow.getHandle(workflowId).describe();
    if (!ownerTypes.includes(type)) return { status: 'unknown' };
    const { uid } = await readMemo(temporal, workflowId, raw.workflowExecutionInfo?.memo?.fields ?? {});
    return { status: closed[status.name] ?? 'living', uid };
  } catch (error) {
    if (isNotFound(error)) return { status: 'unknown' };
    throw error;
  }
}

async function uidsOf(temporal: Client, clusterName: string): Promise<readonly string[]> {
  const workflowId = ownerWorkflowId(clusterName);
  const query = `${isOwner} AND WorkflowId = ${JSON.stringify(workflowId)}`;
  const runs = await findExecutions(temporal, query);
  const memos = await Promise.all(
    runs.map(async ({ memo }) => readMemo(temporal, workflowId, memo?.fields ?? {})),
  );
  return [...new Set(memos.flatMap(({ uid }) => uid ?? []))];
}

async function living(temporal: Client): Promise<readonly LivingCluster[]> {
  const executions = await findExecutions(temporal, `${isOwner} AND ExecutionStatus = 'Running'`);
  const found: LivingCluster[] = [];
  for (const { execution, memo } of executions) {
    const workflowId = execution?.workflowId ?? '';
    const { uid } = await readMemo(temporal, workflowId, memo?.fields ?? {});
    found.push({ name: workflowId.replace(/^cluster\//, ''), uid });
  }
  return found;
}

const isMovable = `WorkflowType IN ('${imageWorkflowType}', '${poolWorkflowType}') AND ExecutionStatus != 'ContinuedAsNew'`;

async function readOrigins(temporal: Client): Promise<readonly Origin[]> {
  const executions = await findExecutions(temporal, isMovable);
  const found = await Promise.all(
    executions.map(async ({ execution, memo }) => {
      const { uid, origins = [] } = await readMemo(temporal, execution?.workflowId ?? '', memo?.fields ?? {});
      return uid === undefined ? [] : origins.map((installation): Origin => ({ uid, installation }));
    }),
  );
  return found.flat();
}

function isNotFound(error: unknown): boolean {
  if (error instanceof Error && error.name === 'WorkflowNotFoundError') return true;
  return isGrpcServiceError(error) && Number(error.code) === 5;
}
