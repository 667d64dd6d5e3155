import { type Client, isGrpcServiceError } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  decodeMapFromPayloads,
  encodeToPayloadsWithContext,
} from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow/data-converter-helpers.js';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import type { TaskAttempt, WorkflowRun, WorkflowRuns } from '../activities/parts.js';
import { isEnvelope } from '../model/messages/envelope.js';
import { collectExecutions, type WorkflowExecution } from '../server/list-executions.js';
import { clusterOfGroup, clusterWorkflowId } from '../model/names.js';

/** Runs whose latest reset is remembered. */
const remembered = 1_000;

/** Runs that continued each other as new, of which the latest reset is looked for. */
const longestChain = 100;

const patienceMs = 10_000;

/** Asks the Temporal server for runs of workflows. */
export function readWorkflowRuns(temporal: Client): WorkflowRuns {
  const resets = new Map<string, Promise<number | undefined>>();
  const describe = (workflowId: string, runId?: string): Promise<WorkflowRun | undefined> =>
    describeRun(temporal, workflowId, runId);
  const readReset = async (workflowId: string, runId: string): Promise<number | undefined> => {
    for (let run = runId, left = longestChain; ; left -= 1) {
      const known = run === runId ? undefined : resets.get(run);
      if (known !== undefined) return known;
      const described = await describe(workflowId, run);
      if (described === undefined && run === runId) resets.delete(runId);
      if (described === undefined || described.resetAt !== undefined || left === 1) return described?.resetAt;
      const previous = (await readStarted(temporal, workflowId, run))?.continuedExecutionRunId;
      if (!previous) return undefined;
      run = previous;
    }
  };
  const ownResetAt = async (workflowId: string, asked?: string): Promise<number | undefined> => {
    const runId = asked ?? (await describe(workflowId))?.runId;
    if (runId === undefined) return undefined;
    const known = resets.get(runId);
    if (known !== undefined) return known;
    if (resets.size >= remembered) resets.clear();
    const answer = readReset(workflowId, runId);
    resets.set(runId, answer);
    answer.catch(() => resets.delete(runId));
    return answer;
  };
  const resetAt: WorkflowRuns['resetAt'] = async (workflowId, runId) => {
    const cluster = clusterOfGroup(workflowId);
    const times = await Promise.all([
      ownResetAt(workflowId, runId),
      cluster === undefined ? undefined : ownResetAt(cluster),
    ]);
    const known = times.filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.max(...known);
  };
  return {
    list: async (workflowId, since = 0) =>
      (
        await searchIfIndexed(
          temporal,
          `WorkflowId = ${JSON.stringify(workflowId)} AND StartTime > '${new Date(since).toISOString()}'`,
        )
      )?.map(({ runId }) => runId),
    startOf: (workflowId, runId) => readStart(temporal, workflowId, runId),
    openGroups: async (clusterName) => {
      const prefix = `${clusterWorkflowId(clusterName)}/group/`;
      const found = await searchIfIndexed(
        temporal,
        `WorkflowId STARTS_WITH ${JSON.stringify(prefix)} AND ExecutionStatus = 'Running'`,
      );
      return (found ?? []).map(({ workflowId }) => workflowId);
    },
    describe,
    resetAt,
    recordHeartbeat: (task, details) => recordHeartbeat(temporal, task, details),
  };
}

interface Execution {
  readonly workflowId: string;
  readonly runId: string;
}

/** Undefined from a server without an index, such as the one of the SDK that skips time. */
async function searchIfIndexed(temporal: Client, query: string): Promise<readonly Execution[] | undefined> {
  return search(temporal, query).catch((error: unknown) => {
    if (hasCode(error, status.UNIMPLEMENTED)) return undefined;
    throw error;
  });
}

async function search(temporal: Client, query: string): Promise<readonly Execution[]> {
  return (await findExecutions(temporal, query)).flatMap(({ execution }) => {
    const { workflowId, runId } = execution ?? {};
    return typeof workflowId === 'string' && typeof runId === 'string' ? [{ workflowId, runId }] : [];
  });
}

/** All workflow executions that match a query. */
export async function findExecutions(temporal: Client, query: string): Promise<readonly WorkflowExecution[]> {
  const { namespace } = temporal.options;
  return collectExecutions(temporal.workflowService, {
    namespace,
    query,
    call: (make) => temporal.withDeadline(Date.now() + patienceMs, make),
  });
}

/** @param runId Default: the present run. */
async function describeRun(
  temporal: Client,
  workflowId: string,
  runId?: string,
): Promise<WorkflowRun | undefined> {
  const { namespace } = temporal.options;
  const answer = await temporal
    .withDeadline(Date.now() + patienceMs, () =>
      temporal.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId, runId } }),
    )
    .catch((error: unknown) => {
      if (hasCode(error, status.NOT_FOUND)) return undefined;
      throw error;
    });
  const info = answer?.workflowExecutionInfo;
  const run = runId ?? info?.execution?.runId;
  if (info === undefined || info === null || typeof run !== 'string') return undefined;
  const resetAt = optionalTsToMs(answer?.workflowExtendedInfo?.lastResetTime);
  const { uid: clusterUid } = await readMemo(temporal, workflowId, info.memo?.fields ?? {});
  return {
    runId: run,
    firstRunId: info.firstRunId ?? run,
    status: nameOf(info.status),
    startedAt: optionalTsToMs(info.startTime) ?? 0,
    resetAt,
    clusterUid,
    pending: await Promise.all(
      (answer?.pendingActivities ?? []).map(async ({ activityId, attempt, heartbeatDetails }) => {
        const heartbeat = await readHeartbeat(
          temporal,
          workflowId,
          activityId ?? '',
          heartbeatDetails?.payloads ?? [],
        );
        return { activityId: activityId ?? '', attempt: attempt ?? 0, heartbeat };
      }),
    ),
  };
}

/** Undefined also for what cannot be read: the workflow could not either. */
async function readStart(temporal: Client, workflowId: string, runId: string): Promise<string | undefined> {
  const { namespace, dataConverter } = temporal.options;
  const { input } = (await readStarted(temporal, workflowId, runId)) ?? {};
  const context = { type: 'workflow', namespace, workflowId } as const;
  const [envelope] = await decodeArrayFromPayloads(
    loadDataConverter(dataConverter),
    input?.payloads,
    context,
  ).catch(() => []);
  return isEnvelope(envelope) ? envelope.id : undefined;
}

/** How a run began; undefined if the server does not know the run. */
async function readStarted(temporal: Client, workflowId: string, runId: string) {
  const { namespace } = temporal.options;
  const page = await temporal
    .withDeadline(Date.now() + patienceMs, () =>
      temporal.workflowService.getWorkflowExecutionHistory({
        namespace,
        execution: { workflowId, runId },
        maximumPageSize: 1,
      }),
    )
    .catch((error: unknown) => {
      if (hasCode(error, status.NOT_FOUND)) return undefined;
      throw error;
    });
  return page?.history?.events?.[0]?.workflowExecutionStartedEventAttributes;
}

async function recordHeartbeat(
  temporal: Client,
  { workflowId, activityId, token: taskToken }: TaskAttempt,
  details: unknown,
): Promise<boolean> {
  const { namespace, dataConverter, identity } = temporal.options;
  const payloads = await encodeToPayloadsWithContext(
    loadDataConverter(dataConverter),
    heartbeatContext(namespace, workflowId, activityId),
    [details],
  );
  try {
    await temporal.withDeadline(Date.now() + patienceMs, () =>
      temporal.workflowService.recordActivityTaskHeartbeat({
        namespace,
        identity,
        taskToken,
        details: { payloads },
      }),
    );
    return true;
  } catch (error) {
    if (hasCode(error, status.NOT_FOUND)) return false;
    throw error;
  }
}

/** The owner to which the codec binds heartbeats. */
function heartbeatContext(namespace: string, workflowId: string, activityId: string) {
  return { type: 'activity', namespace, workflowId, activityId, isLocal: false } as const;
}

/** The two of gRPC's status codes that say something here. */
const status = { NOT_FOUND: 5, UNIMPLEMENTED: 12 } as const;

function hasCode(error: unknown, code: number): boolean {
  return isGrpcServiceError(error) && Number(error.code) === code;
}

/** What an entity shows in its memo; empty for one that another program wrote, or whose key is gone. */
export async function readMemo(
  temporal: Client,
  workflowId: string,
  memo: Readonly<Record<string, Payload>>,
): Promise<{ readonly uid?: string; readonly origins?: readonly string[] }> {
  const { namespace, dataConverter } = temporal.options;
  try {
    const fields = await decodeMapFromPayloads(loadDataConverter(dataConverter), memo, {
      type: 'workflow',
      namespace,
      workflowId,
    });
    const { heddleUid: uid, heddleOrigins: origins } = fields ?? {};
    return {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(Array.isArray(origins) ? { origins: origins as readonly string[] } : {}),
    };
  } catch {
    return {};
  }
}

/** Undefined also for what cannot be read. */
async function readHeartbeat(
  temporal: Client,
  workflowId: string,
  activityId: string,
  payloads: readonly Payload[],
): Promise<unknown> {
  const { namespace, dataConverter } = temporal.options;
  const context = heartbeatContext(namespace, workflowId, activityId);
  try {
    return (await decodeArrayFromPayloads(loadDataConverter(dataConverter), [...payloads], context))[0];
  } catch {
    return undefined;
  }
}

/** By the numbers of Temporal's `WorkflowExecutionStatus`. */
const statuses = [
  'UNSPECIFIED',
  'RUNNING',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'TERMINATED',
  'CONTINUED_AS_NEW',
  'TIMED_OUT',
  'PAUSED',
];

function nameOf(status: number | null | undefined): string {
  return statuses[status ?? 0] ?? 'UNKNOWN';
}
