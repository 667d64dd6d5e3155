import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  isGrpcServiceError,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleDescription,
} from '@temporalio/client';
import { openMessage, purposeOf, sealMessage } from '../model/messages/envelope.js';
import { sealOfSchedule } from '../model/messages/seal.js';
import { workflowQueue, sweepScheduleId, sweepWorkflowType } from '../model/names.js';
import type { Resumption, SweepInput } from '../model/sweep/sweep.js';
import type { SweepPolicy, SweepReport } from '../schema/output/system.js';
import { call } from './call.js';
import { HeddleError } from './errors.js';

/** Uids of unknown clusters that a resumption names. */
const rememberedUnknown = 5_000;

/** Orphaned machines, as of the last sweep. */
export interface LeaksView {
  /** Of the last completed pass; absent before the first. */
  readonly report?: SweepReport;
  readonly schedule: {
    readonly everyMs: number;
    readonly policy: SweepPolicy;
    /** Why the schedule is paused. */
    readonly paused?: string;
    /** RFC 3339. */
    readonly next?: string;
    readonly running: boolean;
    /** The last time that a person let sweeps delete again. */
    readonly resumed?: Resumption;
  };
}

/**
 * The report of the last pass; no worker is needed.
 * @throws HeddleError NotFound before the first worker creates the schedule.
 */
export async function readLeaks(temporal: Client): Promise<LeaksView> {
  const described = await describeSchedule(temporal);
  const report = await lastReport(temporal, described);
  const { spec, state, info } = described;
  return {
    report,
    schedule: {
      everyMs: spec.intervals?.[0]?.every ?? 0,
      ...inputOf(described),
      running: info.runningActions.length > 0,
      paused: state.paused ? (state.note ?? 'paused') : undefined,
      next: info.nextActionTimes[0]?.toISOString(),
    },
  };
}

/** Runs a pass now, after the one that may be running, and waits for its end. */
export async function sweepNow(temporal: Client, patienceMs = 15 * 60_000): Promise<SweepReport> {
  const known = new Set(passesOf(await describeSchedule(temporal)).map(({ runId }) => runId));
  await call(temporal, 'sweep', () =>
    temporal.schedule.getHandle(sweepScheduleId).trigger(ScheduleOverlapPolicy.BUFFER_ONE),
  );
  for (const until = Date.now() + patienceMs; Date.now() < until; await pause(250)) {
    const started = passesOf(await describeSchedule(temporal)).find(({ runId }) => !known.has(runId));
    if (started !== undefined) return resultOf(temporal, started.workflowId, until - Date.now());
  }
  throw new HeddleError(
    'Failed',
    `no pass of the sweep started within ${Math.round(patienceMs / 1_000)} s; run 'heddle doctor' to check the workers`,
  );
}

/**
 * Deletes orphaned machines of the last report after checking them again, even in a dry run.
 * @throws HeddleError Invalid for ids that are not in the last report.
 */
export async function deleteLeaks(
  temporal: Client,
  providerids: readonly string[],
  patienceMs = 15 * 60_000,
): Promise<SweepReport> {
  const described = await describeSchedule(temporal);
  const { leaks = [] } = (await lastReport(temporal, described)) ?? {};
  const unknown = providerids.filter((id) => !leaks.some(({ providerid }) => providerid === id));
  if (unknown.length > 0)
    throw new HeddleError(
      'Invalid',
      `the last sweep did not find ${unknown.join(', ')} among the orphaned machines; run 'heddle leaks' to see its report, or 'heddle leaks --sweep' to run a new pass`,
    );
  const input: SweepInput = { ...inputOf(described), named: providerids, earlier: leaks };
  const workflowId = `sweep/named-${randomUUID()}`;
  await call(temporal, 'delete leaks', () =>
    temporal.workflow.start(sweepWorkflowType, {
      workflowId,
      taskQueue: workflowQueue,
      args: [input],
      workflowExecutionTimeout: '1 hour',
      staticSummary: `delete ${providerids.length} machines by name`,
    }),
  );
  return resultOf(temporal, workflowId, patienceMs);
}

/**
 * Lets the sweep delete again after it found that the database is older than the machines. Machines that the
 * database has no record of stay, and are deleted only by name.
 */
export async function resumeSweep(temporal: Client, by: string): Promise<Resumption> {
  const described = await describeSchedule(temporal);
  const { unknown = [] } = (await lastReport(temporal, described)) ?? {};
  const earlier = inputOf(described).resumed?.uids ?? [];
  const uids = [...new Set([...unknown.map(({ uid }) => uid), ...earlier])].slice(0, rememberedUnknown);
  const resumed: Resumption = { at: new Date().toISOString(), by, uids };
  await call(temporal, 'sweep', () =>
    temporal.schedule
      .getHandle(sweepScheduleId)
      .update(({ action, spec, policies, state: { paused, note } }) => {
        const input: SweepInput = { ...inputOf({ action }), resumed };
        const args = sealMessage(purposeOf('start', sweepWorkflowType), [input], sealOfSchedule);
        return { spec, policies, state: { paused, note }, action: { ...action, args } };
      }),
  );
  return resumed;
}

async function describeSchedule(temporal: Client): Promise<ScheduleDescription> {
  try {
    return await call(temporal, 'leaks', async () => temporal.schedule.getHandle(sweepScheduleId).describe());
  } catch (error) {
    const cause = error instanceof HeddleError ? error.cause : error;
    const missing =
      cause instanceof ScheduleNotFoundError || (isGrpcServiceError(cause) && Number(cause.code) === 5);
    if (missing)
      throw new HeddleError(
        'NotFound',
        `this namespace has no schedule ${sweepScheduleId}; a worker creates it within a minute: run 'heddle worker'`,
        { cause: error, next: 'heddle worker' },
      );
    throw error;
  }
}

function inputOf({ action }: Pick<ScheduleDescription, 'action'>): SweepInput {
  const opened = openMessage(purposeOf('start', sweepWorkflowType), action.args ?? [], Date.now());
  const [input] = (opened.ok ? opened.args : []) as readonly Partial<SweepInput>[];
  if (input?.policy === undefined)
    throw new HeddleError(
      'Failed',
      `the schedule ${sweepScheduleId} has an input that is not Heddle's; delete it, and start a worker to create it again`,
    );
  return { policy: input.policy, ...(input.resumed === undefined ? {} : { resumed: input.resumed }) };
}

interface Pass {
  /** Ends with the second of its start: two passes may share it. */
  readonly workflowId: string;
  readonly runId: string;
}

/** The passes in the schedule's record, oldest first. */
function passesOf({ info }: ScheduleDescription): readonly Pass[] {
  return [...info.recentActions, ...info.runningActions.map((action) => ({ action }))].map(
    ({ action: { workflow } }) => ({ workflowId: workflow.workflowId, runId: workflow.firstExecutionRunId }),
  );
}

async function lastReport(
  temporal: Client,
  described: ScheduleDescription,
): Promise<SweepReport | undefined> {
  for (const workflowId of new Set(
    passesOf(described)
      .map((pass) => pass.workflowId)
      .toReversed(),
  )) {
    const handle = temporal.workflow.getHandle(workflowId);
    const read = async (): Promise<SweepReport | undefined> =>
      (await handle.describe()).status.name === 'COMPLETED' ? handle.result() : undefined;
    const report = await call(temporal, 'leaks', read).catch((error: unknown) => {
      // The namespace's retention has deleted the run.
      if (error instanceof HeddleError && error.code === 'NotFound') return undefined;
      throw error;
    });
    if (report !== undefined) return report;
  }
  return undefined;
}

function resultOf(temporal: Client, workflowId: string, patienceMs: number): Promise<SweepReport> {
  const result = (): Promise<SweepReport> => temporal.workflow.getHandle(workflowId).result();
  return call(temporal, 'sweep', result, { waitMs: patienceMs });
}
