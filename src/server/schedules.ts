import { isDeepStrictEqual } from 'node:util';
import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleOptions,
} from '@temporalio/client';
import { keyIdsIn } from '../client/key-uses.js';
import { openMessage, purposeOf, sealMessage } from '../model/messages/envelope.js';
import { sealOfSchedule } from '../model/messages/seal.js';
import {
  workflowQueue,
  periodicChecksScheduleId,
  periodicChecksWorkflowType,
  sweepScheduleId,
  sweepWorkflowType,
} from '../model/names.js';
import { milliseconds } from '../model/milliseconds.js';
import type { SweepInput } from '../model/sweep/sweep.js';
import type { Settings } from '../schema/config.js';

const deadlineMs = 10_000;

/** What the workers of an installation run by Schedules. */
export type ScheduleSettings = Pick<Settings, 'sweep' | 'periodicChecks'>;

/** Creates or updates the Schedule of the leak sweep. @returns the problem, as a message. */
export function keepSweepSchedule(
  temporal: Client,
  settings: Settings['sweep'],
  currentKey?: string,
): Promise<string | undefined> {
  return keepSchedule(temporal, sweepSchedule(settings), currentKey);
}

/**
 * Creates or updates the Schedules; encrypts those under another key again. @returns the
 * problems, as messages.
 */
export async function keepSchedules(
  temporal: Client,
  settings: ScheduleSettings,
  currentKey?: string,
): Promise<readonly string[]> {
  const problems = await Promise.all(
    schedulesOf(settings).map((kept) => keepSchedule(temporal, kept, currentKey)),
  );
  return problems.filter((problem) => problem !== undefined);
}

/**
 * Creates the Schedules that were deleted; others are unchanged, because a worker with another
 * configuration may have set them. @returns the ids of those that were missing.
 */
export async function restoreSchedules(
  temporal: Client,
  settings: ScheduleSettings,
): Promise<readonly string[]> {
  const made = await Promise.all(
    schedulesOf(settings).map((kept) =>
      temporal.withDeadline(Date.now() + deadlineMs, () => makeSchedule(temporal, kept)),
    ),
  );
  return schedulesOf(settings)
    .map(({ scheduleId }) => scheduleId)
    .filter((_, index) => made[index]);
}

function schedulesOf({ sweep, periodicChecks }: ScheduleSettings): readonly KeptSchedule[] {
  return [sweepSchedule(sweep), periodicChecksSchedule(periodicChecks)];
}

function sweepSchedule({ every, minimumAge, ...limits }: Settings['sweep']): KeptSchedule {
  const policy = { minimumAgeMs: milliseconds(minimumAge), ...limits };
  const input: SweepInput = { policy };
  return {
    scheduleId: sweepScheduleId,
    everyMs: milliseconds(every),
    without: 'orphaned machines are not detected',
    action: { ...actionOf(sweepWorkflowType, 'sweep'), args: [input], staticSummary: 'orphaned machines' },
    keptArgs: ([current]) => {
      const { resumed } = (current as Partial<SweepInput> | undefined) ?? {};
      return [resumed === undefined ? input : { ...input, resumed }];
    },
    isSame: ([current]) => isDeepStrictEqual((current as Partial<SweepInput> | undefined)?.policy, policy),
  };
}

function periodicChecksSchedule({ every }: Settings['periodicChecks']): KeptSchedule {
  return {
    scheduleId: periodicChecksScheduleId,
    everyMs: milliseconds(every),
    without: 'machines are not checked, and outdated images are not rebuilt',
    action: {
      ...actionOf(periodicChecksWorkflowType, 'periodic-checks'),
      args: [],
      staticSummary: 'periodic checks of machines and images',
    },
    keptArgs: () => [],
    isSame: () => true,
  };
}

function actionOf(workflowType: string, workflowId: string) {
  return {
    type: 'startWorkflow',
    workflowType,
    workflowId,
    taskQueue: workflowQueue,
    workflowExecutionTimeout: '1 hour',
  } as const;
}

type WorkflowAction = Extract<ScheduleOptions['action'], { readonly type: 'startWorkflow' }>;

interface KeptSchedule {
  readonly scheduleId: string;
  readonly everyMs: number;
  readonly action: WorkflowAction;
  /** Whether a schedule with these arguments does the same, at any interval. */
  readonly isSame: (args: readonly unknown[]) => boolean;
  /** The new arguments, with what a person has set in those that the schedule has. */
  readonly keptArgs: (args: readonly unknown[]) => readonly unknown[];
  /** The consequence of its absence, for messages. */
  readonly without: string;
}

/** Creates or updates a Schedule; concurrent calls are safe, and a pause stays. */
async function keepSchedule(
  temporal: Client,
  kept: KeptSchedule,
  currentKey?: string,
): Promise<string | undefined> {
  try {
    await temporal.withDeadline(Date.now() + deadlineMs, () => makeOrUpdate(temporal, kept, currentKey));
    return undefined;
  } catch (error) {
    return `the Temporal server did not accept the schedule ${kept.scheduleId} (${error instanceof Error ? error.message : String(error)}), so ${kept.without}`;
  }
}

async function makeOrUpdate(temporal: Client, kept: KeptSchedule, currentKey?: string): Promise<void> {
  if (await makeSchedule(temporal, kept)) return;
  const { scheduleId, everyMs, action: plain, isSame, keptArgs } = kept;
  const purpose = purposeOf('start', plain.workflowType as string);
  const handle = temporal.schedule.getHandle(scheduleId);
  const description = await handle.describe();
  // Workers of one configuration leave it alone, so that starting them does not set its clock back.
  const current = argumentsIn(purpose, description.action.args ?? []);
  const keys = keyIdsIn(description.raw.schedule?.action);
  const isReadable = currentKey === undefined || [...keys].every((id) => id === currentKey);
  if (description.spec.intervals?.[0]?.every === everyMs && isSame(current) && isReadable) return;
  await handle.update(({ state: { paused, note }, policies, action: { args = [] } }) => ({
    spec: { intervals: [{ every: everyMs }] },
    // The SDK's interceptors see a schedule that is created, but not one that is updated.
    action: { ...plain, args: sealMessage(purpose, keptArgs(argumentsIn(purpose, args)), sealOfSchedule) },
    policies,
    state: { paused, note },
  }));
}

/** False if there is one, which stays as it is. */
async function makeSchedule(
  temporal: Client,
  { scheduleId, everyMs, action: plain }: KeptSchedule,
): Promise<boolean> {
  const purpose = purposeOf('start', plain.workflowType as string);
  const action = { ...plain, args: sealMessage(purpose, plain.args as unknown[], sealOfSchedule) };
  const spec = { intervals: [{ every: everyMs }] };
  // What was missed while the server was down is not caught up: the next pass sees as much.
  const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' } as const;
  try {
    await temporal.schedule.create({ scheduleId, spec, action, policies });
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}

/** Undefined for what another program wrote. */
function argumentsIn(purpose: string, sealed: readonly unknown[]): readonly unknown[] {
  const opened = openMessage(purpose, [...sealed], Date.now());
  return opened.ok ? opened.args : [];
}
