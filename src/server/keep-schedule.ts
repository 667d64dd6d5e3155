import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleOptions,
} from '@temporalio/client';
import { openMessage, purposeOf, sealMessage } from '../model/messages/envelope.js';

export type WorkflowAction = Extract<ScheduleOptions['action'], { readonly type: 'startWorkflow' }>;

export interface KeptSchedule {
  readonly scheduleId: string;
  readonly everyMs: number;
  readonly action: WorkflowAction;
  /**
   * Whether a schedule that starts its workflow with these arguments does the same, whatever its interval.
   */
  readonly isSame: (args: readonly unknown[]) => boolean;
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

async function makeOrUpdate(
  temporal: Client,
  { scheduleId, everyMs, action: plain, isSame }: KeptSchedule,
): Promise<void> {
  const purpose = purposeOf('start', plain.workflowType as string);
  // The SDK's interceptors see a schedule that is created, but not one that is updated.
  const action = { ...plain, args: sealMessage(purpose, plain.args as unknown[]) };
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
    const current = openMessage(purpose, description.action.args ?? [], Date.now());
    if (description.spec.intervals?.[0]?.every === everyMs && current.ok && isSame(current.args)) return;
    await handle.update(({ state: { paused, note }, policies }) => ({
      spec,
      action,
      policies,
      state: { paused, note },
    }));
  }
}
