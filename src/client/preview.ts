import { randomUUID } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { Intent } from '../model/plan/intent/intent.js';
import type { Basis } from '../model/cluster/consent.js';
import type { PackedPlanRequest } from '../model/cluster/messages.js';
import { clusterWorkflowId, workflowQueue, planWorkflowType } from '../model/names.js';
import { packCurrent, unpackCurrent, unpackPlan, type PackedPlan } from '../model/plan/packed.js';
import { emptyCluster, type CurrentCluster } from '../model/plan/facts/current.js';
import type { Plan, ServedPlan } from '../model/plan/plan.js';
import { lostOutputs } from '../model/cluster/lost-outputs.js';
import { specChanges } from '../model/cluster/spec-changes.js';
import type { SpecChange } from '../schema/output/plan.js';
import type { NodeStatus } from '../schema/output/status.js';
import type { ClusterSpec } from '../model/cluster/spec.js';
import { clusterMessages } from '../workflows/messages.js';
import { call } from './call.js';
import { HeddleError } from './errors.js';
import { nodesOfGroups } from './groups.js';
import { lossesOf, type Losses } from './losses.js';
import { requireSites } from './sites.js';
import { workerDifferences } from './workers.js';
import { read } from './read.js';

export interface PlanPreview {
  readonly plan: Plan & Pick<ServedPlan, 'digest' | 'imports' | 'releasing'>;
  readonly current: CurrentCluster;
  /** For the consent of a request that is refused if the cluster has changed since. */
  readonly basis: Basis;
  readonly losses: Losses;
  /** What an apply or a rollback changes in the spec, secrets masked; empty for a new cluster. */
  readonly changes: readonly SpecChange[];
  /** What may go wrong, in words. */
  readonly warnings: readonly string[];
}

/**
 * Events of a workflow that no worker has taken up: it was started, and a task for it was put on the queue.
 */
const eventsBeforeWorker = 2;

/** Plans an operation on a cluster as it is known, by the activity that would plan it for real. */
export async function preview(
  temporal: Client,
  name: string,
  intent: Intent,
  spec?: ClusterSpec,
): Promise<PlanPreview> {
  const { current, basis } = await currentOf(temporal, name);
  const request: PackedPlanRequest = {
    clusterName: name,
    intent,
    current: packCurrent(current),
    spec,
    checks: true,
    clusterUid: basis.clusterUid,
  };
  const what = `plan ${name}`;
  const handle = await call(temporal, what, () =>
    temporal.workflow.start<(input: PackedPlanRequest) => Promise<PackedPlan>>(planWorkflowType, {
      workflowId: `plan/${name}/${randomUUID()}`,
      taskQueue: workflowQueue,
      args: [request],
      workflowExecutionTimeout: '2 minutes',
    }),
  );
  const packed = await call(temporal, what, () => handle.result()).catch(async (error: unknown) => {
    // A worker that took it up and is only slow is waited for.
    const silent = error instanceof HeddleError && error.code === 'NoWorker';
    if (!silent || (await handle.describe()).historyLength <= eventsBeforeWorker) throw error;
    return call(temporal, what, () => handle.result(), { waitMs: 60_000 });
  });
  const plan = unpackPlan(packed);
  await requireSites(temporal, plan);
  const before = plan.spec === undefined ? undefined : await specOf(temporal, name);
  const changes = before === undefined || plan.spec === undefined ? [] : specChanges(before, plan.spec);
  const warnings = [...lostOutputs(current, intent, plan.spec), ...(await workerDifferences(temporal))];
  const losses = await lossesOf({ plan, current }, () => nodesOf(temporal, name));
  return { plan, current, basis, losses, changes, warnings };
}

async function currentOf(
  temporal: Client,
  name: string,
): Promise<{ readonly current: CurrentCluster; readonly basis: Basis }> {
  const found = await ofRunning(temporal, name, (handle) => read(handle, clusterMessages.queries.current));
  if (found === undefined) return { current: emptyCluster, basis: { operation: 0 } };
  const { basis, ...current } = found;
  return { current: unpackCurrent(current), basis };
}

async function nodesOf(temporal: Client, name: string): Promise<readonly NodeStatus[]> {
  const status = await ofRunning(temporal, name, (handle) => read(handle, clusterMessages.queries.status));
  return [...(status?.nodes ?? []), ...(await nodesOfGroups(temporal, status?.groups ?? []))];
}

async function specOf(temporal: Client, name: string): Promise<ClusterSpec | undefined> {
  const spec = await ofRunning(temporal, name, (handle) =>
    read(handle, clusterMessages.queries.spec, 'present'),
  );
  return spec ?? undefined;
}

/** What a cluster answers; undefined if there is none. */
async function ofRunning<Answer>(
  temporal: Client,
  name: string,
  ask: (handle: WorkflowHandle) => Promise<Answer>,
): Promise<Answer | undefined> {
  const handle = temporal.workflow.getHandle(clusterWorkflowId(name));
  try {
    const described = await call(temporal, `plan ${name}`, () => handle.describe());
    return described.status.name === 'RUNNING'
      ? await call(temporal, `plan ${name}`, () => ask(handle))
      : undefined;
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'NotFound') return undefined;
    throw error;
  }
}
