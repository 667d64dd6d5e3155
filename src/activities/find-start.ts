import { setTimeout as wait } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { skewMs, validMs } from '../model/messages/envelope.js';
import type { ActivityParts } from './parts.js';

/** How long a start may be valid: that of the codec server, whose clock and those of others may differ. */
const longestMs = validMs + 5 * skewMs;
/** Longest wait until the server's index shows the asking run, in ms. */
const patienceMs = 10_000;

/**
 * The activity FIND_START: whether no earlier workflow of this id had the same start. The index lags, but it
 * shows runs in about the order of their starts, so the earlier ones are there once it shows the asking run.
 */
export async function findStart(
  { runs }: Pick<ActivityParts, 'runs'>,
  { start }: { readonly start: string },
): Promise<{ readonly isNew: boolean }> {
  const { workflowId, runId } = activityInfo().workflowExecution ?? { workflowId: '', runId: '' };
  const own = await runs.describe(workflowId, runId);
  const since = (own?.startedAt ?? Date.now()) - longestMs;
  const begin = performance.now();
  let listed = await runs.list(workflowId, since);
  for (let pause = 20; listed?.includes(runId) === false; pause = Math.min(pause * 2, 1_000)) {
    if (performance.now() - begin > patienceMs)
      throw new Error(`the server's index does not show run ${runId} of ${workflowId} yet`);
    await wait(pause);
    listed = await runs.list(workflowId, since);
  }
  for (const other of (listed ?? []).filter((id) => id !== runId)) {
    if ((await runs.startOf(workflowId, other)) !== start) continue;
    // A reset begins a run with the start of the run that it ends.
    const run = await runs.describe(workflowId, other);
    if (run !== undefined && run.firstRunId !== own?.firstRunId) return { isNew: false };
  }
  return { isNew: true };
}
