import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client, type ScheduleDescription, type ScheduleOptions } from '@temporalio/client';

export type WorkflowAction = Extract<ScheduleOptions['action'], { readonly type: 'startWorkflow' }>;

export interface KeptSchedule {
  readonly scheduleId: string;
  readonly everyMs: number;
  readonly action: WorkflowAction;
  /** Whether it does the same already, beside its interval. */
  readonly isSame: (description: ScheduleDescription) => boolean;
  /** What does not happen without it, for people. */
  readonly without: string;
}

/**
 * Makes a Schedule, or brings it up to date; may be called by several at once. A pause stays.
 * @returns what went wrong, for people.
 */
export async function keepSchedule(temporal: Client, kept: KeptSchedule): Promise<string | undefined> {
  try {
    await temporal.withDeadline(Date.now() + 10_000, () => makeOrUpdate(temporal, kept));
    return undefined;
  } catch (error) {
    return `the Temporal server did not take the schedule ${kept.scheduleId} (${error instanceof Error ? error.message : String(error)}), so ${kept.without}`;
  }
}

async function makeOrUpdate(temporal: Client, { scheduleId, everyMs, action, isSame }: KeptSchedule): Promise<void> {
  const spec = { intervals: [{ every: everyMs }] };
  try {
    // What was missed while the server was down is not caught up: the next pass sees as much.
    const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' } as const;
    await temporal.schedule.create({ scheduleId, spec, action, policies });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const handle = temporal.schedule.getHandle(scheduleId);
    const description = await handle.describe();
    // Workers of one configuration leave it alone, so that starting them does not set its clock back.
    if (description.spec.intervals?.[0]?.every === everyMs && isSame(description)) return;
    await handle.update(({ state: { paused, note }, policies }) => ({ spec, action, policies, state: { paused, ...(note === undefined ? {} : { note }) } }));
  }
}
