import { setTimeout as wait } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import type { PreviousRunsReply, PreviousRunsRequest } from '../../model/node/probe.js';
import { clusterWorkflowId } from '../../model/names.js';
import type { ActivityParts, WorkflowRun, WorkflowRuns } from '../parts.js';

/**
 * How the run of a cluster ends that says of itself that it leaves nothing behind: deleted, or never asked
 * for anything.
 */
const endedByItself = 'COMPLETED';

/** Close statuses after which another run continues. */
const goesOn = ['RUNNING', 'PAUSED', 'CONTINUED_AS_NEW'];

/**
 * The activity FIND_PREVIOUS_RUNS: finds runs of a cluster of this name that were terminated or
 * failed, and so may have left machines.
 */
export async function findPreviousRuns(
  { runs }: Pick<ActivityParts, 'runs'>,
  { clusterId, runId, isFirst }: PreviousRunsRequest,
): Promise<PreviousRunsReply> {
  const earlier =
    isFirst === true ? { uids: [], known: [], clean: true } : await readEarlier(runs, clusterId, runId);
  const groups = await runs.openGroups(clusterId);
  return { ...earlier, ...(groups.length === 0 ? {} : { groups }) };
}

async function readEarlier(
  runs: WorkflowRuns,
  clusterId: string,
  runId: string,
): Promise<Omit<PreviousRunsReply, 'groups'>> {
  const workflowId = clusterWorkflowId(clusterId);
  const own = await runs.describe(workflowId, runId);
  const listed = await listWithOwn(runs, workflowId, runId);
  const others: WorkflowRun[] = [];
  for (const other of listed.filter((id) => id !== runId)) {
    const run = await runs.describe(workflowId, other);
    if (run !== undefined && !isOwnRun(run, own) && !goesOn.includes(run.status)) others.push(run);
  }
  const newestFirst = others.toSorted((one, other) => other.startedAt - one.startedAt);
  const cut = newestFirst.filter(({ status }) => status !== endedByItself);
  const clean = newestFirst[0] === undefined || newestFirst[0].status === endedByItself;
  return { uids: uidsOf(cut), known: uidsOf(newestFirst), clean };
}

function uidsOf(runs: readonly WorkflowRun[]): readonly string[] {
  return [...new Set(runs.flatMap(({ clusterUid }) => clusterUid ?? []))];
}

/** The runs that this one continues, and those that a reset cut off, lived for the same cluster. */
function isOwnRun(run: WorkflowRun, own: WorkflowRun | undefined): boolean {
  return (
    own !== undefined &&
    (run.firstRunId === own.firstRunId || (run.clusterUid !== undefined && run.clusterUid === own.clusterUid))
  );
}

/**
 * Longest wait until the server's index shows the asking run, and least wait before it is asked once more, in
 * ms.
 */
const patienceMs = 20_000;
const againMs = 250;

/**
 * No run names the one before it that was terminated, and asking for the workflow gives the newest run: only
 * the index knows the others, and it lags. Measured on the development server: a terminated run showed 10 to
 * 70 ms after the next one had started, with 60 pairs at once after 330 to 650 ms. The runs of one id are
 * indexed in about the order in which things happened: of 90 pairs the new run was shown before the old one
 * once, by 8 ms. So the list is taken when it shows the asking run, and once more after as long again as that
 * took. Whether a listed run has ended is asked of the run itself, which does not lag.
 */
async function listWithOwn(
  runs: WorkflowRuns,
  workflowId: string,
  runId: string,
): Promise<readonly string[]> {
  const begin = performance.now();
  let listed = await runs.list(workflowId);
  // Without search attributes previous runs are unknown; the tags of machines are searched in any case.
  if (listed === undefined) return [];
  for (
    let pause = 50;
    !listed.includes(runId) && performance.now() - begin < patienceMs;
    pause = Math.min(pause * 2, 2_000)
  ) {
    await wait(pause);
    listed = (await runs.list(workflowId)) ?? [];
  }
  if (!listed.includes(runId) && activityInfo().attempt < 3)
    throw new Error(`the server's index does not show run ${runId} of ${workflowId} yet`);
  await wait(Math.max(againMs, performance.now() - begin));
  return [...new Set([...listed, ...((await runs.list(workflowId)) ?? [])])];
}
