import type { Client } from '@temporalio/client';
import { coreQueue, roundsScheduleId, roundsWorkflowType } from '../model/names.js';
import { keepSchedule } from './keep-schedule.js';

/** Makes the Schedule of the rounds, or brings it up to date. @returns what went wrong, for people. */
export async function keepRoundsSchedule(temporal: Client, everyMs: number): Promise<string | undefined> {
  return keepSchedule(temporal, {
    scheduleId: roundsScheduleId,
    everyMs,
    without: 'machines are not looked at, and old images are not built again',
    action: {
      type: 'startWorkflow',
      workflowType: roundsWorkflowType,
      taskQueue: coreQueue,
      workflowId: 'rounds',
      args: [],
      workflowExecutionTimeout: '1 hour',
      staticSummary: 'machines and images are looked at',
    },
    isSame: () => true,
  });
}
