import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client, type ScheduleDescription, type ScheduleOptions } from '@temporalio/client';
import { coreQueue, sweepScheduleId, sweepWorkflowType } from '../model/names.js';
import type { SweepInput, SweepSettings } from '../model/sweep.js';

/**
 * Makes the Schedule of the sweep, or brings it up to date; may be called by several at once. A pause stays.
 * @returns what went wrong, for people: without a schedule nothing is swept, and all else works.
 */
export async function keepSweepSchedule(temporal: Client, settings: SweepSettings): Promise<string | undefined> {
  try {
    await temporal.withDeadline(Date.now() + 10_000, () => makeOrUpdate(temporal, settings));
    return undefined;
  } catch (error) {
    return `the Temporal server did not take the schedule ${sweepScheduleId} (${error instanceof Error ? error.message : String(error)}), so machines that no cluster has are not looked for`;
  }
}

type SweepAction = Extract<ScheduleOptions['action'], { readonly type: 'startWorkflow' }>;

async function makeOrUpdate(temporal: Client, settings: SweepSettings): Promise<void> {
  const spec = { intervals: [{ every: settings.everyMs }] };
  const action = actionOf(settings);
  try {
    // What was missed while the server was down is not caught up: the next pass sees as much.
    const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' } as const;
    await temporal.schedule.create({ scheduleId: sweepScheduleId, spec, action, policies });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const handle = temporal.schedule.getHandle(sweepScheduleId);
    // Workers of one configuration leave it alone, so that starting them does not set its clock back.
    if (isUpToDate(await handle.describe(), settings)) return;
    await handle.update(({ state: { paused, note }, policies }) => ({ spec, action, policies, state: { paused, ...(note === undefined ? {} : { note }) } }));
  }
}

function actionOf({ policy }: SweepSettings): SweepAction {
  const input: SweepInput = { policy };
  return {
    type: 'startWorkflow', workflowType: sweepWorkflowType, taskQueue: coreQueue, workflowId: 'sweep', args: [input], workflowExecutionTimeout: '1 hour',
    staticSummary: 'machines that no cluster has',
  };
}

function isUpToDate({ spec, action }: ScheduleDescription, { everyMs, policy }: SweepSettings): boolean {
  const [input] = action.args as readonly Partial<SweepInput>[];
  const { minimumAgeMs, cap, delete: deletes } = policy;
  const told = input?.policy;
  return spec.intervals?.[0]?.every === everyMs && told?.minimumAgeMs === minimumAgeMs && told.cap === cap && told.delete === deletes;
}
