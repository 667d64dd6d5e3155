import { type Client, isGrpcServiceError } from '@temporalio/client';
import type { ClusterRecords, LivingCluster, RecordStatus } from '../activities/sweep/cluster-records.js';
import type { Origin } from '../model/sweep/sweep.js';
import {
  clusterWorkflowType,
  imageWorkflowType,
  machineWorkflowType,
  ownerWorkflowId,
  poolWorkflowType,
} from '../model/names.js';
import { listExecutions, readMemo } from './workflow-runs.js';
import { disownUpdate, ownersQuery } from '../workflows/cluster/messages.js';

const patienceMs = 10_000;

/** Asks the Temporal server, and the workflows of clusters through it. */
export function readClusterRecords(temporal: Client): ClusterRecords {
  const patiently = <Value>(work: () => Promise<Value>): Promise<Value> =>
    temporal.withDeadline(Date.now() + patienceMs, work);
  return {
    status: (clusterName) => patiently(() => standingOf(temporal, clusterName)),
    living: () => living(temporal),
    origins: () => readOrigins(temporal),
    hasAny: async () => {
      const { namespace } = temporal.options;
      const { executions } = await patiently(() =>
        temporal.workflowService.listWorkflowExecutions({ namespace, query: isOwner, pageSize: 1 }),
      );
      return executions.length > 0;
    },
    owners: (workflowId, machines) =>
      patiently(() => temporal.workflow.getHandle(workflowId).query(ownersQuery, machines)),
    disown: (workflowId, machines) =>
      patiently(() =>
        temporal.workflow.getHandle(workflowId).executeUpdate(disownUpdate, { args: [machines] }),
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

async function standingOf(temporal: Client, clusterName: string): Promise<RecordStatus> {
  try {
    const { status, type } = await temporal.workflow.getHandle(ownerWorkflowId(clusterName)).describe();
    if (!ownerTypes.includes(type)) return 'unknown';
    return closed[status.name] ?? 'living';
  } catch (error) {
    if (isNotFound(error)) return 'unknown';
    throw error;
  }
}

async function living(temporal: Client): Promise<readonly LivingCluster[]> {
  const executions = await listExecutions(temporal, `${isOwner} AND ExecutionStatus = 'Running'`);
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
  const executions = await listExecutions(temporal, isMovable);
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
