import { isCancellation, workflowInfo } from '@temporalio/workflow';
import { activityTable, type ActivityName } from '../../../src/model/activities.js';
import { schedule } from '../../../src/workflows/schedule.js';
import { readTaskFailure } from '../../../src/workflows/task-failure.js';

/** How an activity ended, as the code that waits for it sees it. */
export type End = 'done' | 'cancelled' | { readonly kind: string; readonly exitCode?: number };

/** The outcome of FIND_KEY is read by nothing but the guard of messages. */
export const everyActivity = (Object.keys(activityTable) as ActivityName[]).filter(
  (name) => name !== 'FIND_KEY',
);

/**
 * Schedules all activities at once, each under its name. Its type is one of Heddle's, so
 * Heddle's interceptors apply.
 */
export async function plan(): Promise<Readonly<Record<string, End>>> {
  return Object.fromEntries(
    await Promise.all(everyActivity.map(async (name) => [name, await endOf(name)] as const)),
  );
}

/** Long, so that a slow computer ends none. */
const hourMs = 3_600_000;
/** In a workflow with this id all activities exceed their limit. */
export const shortId = 'plan/short';
const shortMs = 3_000;
const at = { site: 'here', provider: 'account' };

async function endOf(name: ActivityName): Promise<End> {
  try {
    const budgetMs = workflowInfo().workflowId === shortId ? shortMs : hourMs;
    await schedule(name, {} as never, { id: name, at, attemptMs: hourMs, budgetMs });
    return 'done';
  } catch (error) {
    if (isCancellation(error)) return 'cancelled';
    const { kind, exitCode } = readTaskFailure(error, { taskId: name, action: 'CREATE' }, '').record;
    return { kind, exitCode };
  }
}
