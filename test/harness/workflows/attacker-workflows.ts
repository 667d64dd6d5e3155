import { scheduleActivity } from '@temporalio/workflow';

/** Schedules any activity on any queue. */
export async function schedule(
  activity: string,
  taskQueue: string,
  args: readonly unknown[],
): Promise<unknown> {
  return scheduleActivity(activity, [...args], {
    taskQueue,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: '2 minutes',
    retry: { maximumAttempts: 2 },
  });
}
