import type { Client } from '@temporalio/client';
import { coreQueue, sweepScheduleId, sweepWorkflowType } from '../model/names.js';
import type { SweepInput, SweepSettings } from '../model/sweep/sweep.js';
import { keepSchedule } from './keep-schedule.js';

/**
 * Makes the Schedule of the sweep, or brings it up to date; may be called by several at once. A pause stays.
 * @returns what went wrong, for people: without a schedule nothing is swept, and all else works.
 */
export async function keepSweepSchedule(
  temporal: Client,
  { everyMs, policy }: SweepSettings,
): Promise<string | undefined> {
  const input: SweepInput = { policy };
  return keepSchedule(temporal, {
    scheduleId: sweepScheduleId,
    everyMs,
    without: 'machines that no cluster has are not looked for',
    action: {
      type: 'startWorkflow',
      workflowType: sweepWorkflowType,
      taskQueue: coreQueue,
      workflowId: 'sweep',
      args: [input],
      workflowExecutionTimeout: '1 hour',
      staticSummary: 'machines that no cluster has',
    },
    isSame: ([told]) => {
      const { minimumAgeMs, cap, delete: deletes } = (told as Partial<SweepInput> | undefined)?.policy ?? {};
      return minimumAgeMs === policy.minimumAgeMs && cap === policy.cap && deletes === policy.delete;
    },
  });
}
