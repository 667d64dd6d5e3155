import { ActivityCancellationType, scheduleActivity } from '@temporalio/workflow';
import { actionTable, type Action } from '../model/action.js';
import type { CheckedImage, CheckImageRequest } from '../model/image/messages.js';
import type { BorrowNodeRequest, FindNodeRequest, FoundNode } from '../model/image/node.js';
import type { LookBorrowerReply, LookBorrowerRequest } from '../model/loan.js';
import type {
  EarlierRunsReply,
  EarlierRunsRequest,
  FindMachinesReply,
  FindMachinesRequest,
  SurveyReply,
  SurveyRequest,
} from '../model/look.js';
import type {
  DisownReply,
  DisownRequest,
  FindLeaksReply,
  FindLeaksRequest,
  SweepGround,
} from '../model/sweep/sweep.js';
import { machineActionTable, type MachineAction } from '../model/machine/actions.js';
import type {
  AccountReply,
  AccountRequest,
  MachineTaskOutcome,
  MachineTaskRequest,
} from '../model/machine/messages.js';
import type { TaskOutcome, TaskRequest } from '../model/messages.js';
import type {
  FindComputersReply,
  FindComputersRequest,
  OperateMachineReply,
  OperateMachineRequest,
} from '../model/reservation/messages.js';
import type { Tidings } from '../model/reservation/tidings.js';
import { buildQueue, coreQueue, providerQueue, siteQueue, taskTitle, uploadQueue } from '../model/names.js';
import type { Placement } from '../model/node.js';
import {
  togetherName,
  type TogetherAction,
  type TogetherEnd,
  type TogetherRequest,
} from '../model/together.js';
import type { NodeReusedRequest, PoolPlan, QuotaReply, QuotaRequest } from '../model/pool/messages.js';
import { takeOverAfterMs } from '../model/resumption.js';

/** Longest silence of activities that are no tasks; a false alarm only has them done again. */
const heartbeatTimeout = '5 seconds';

/**
 * Failures say themselves how long to wait and when it is enough; this is for attempts that nobody heard the
 * end of.
 */
const takeOver = { initialInterval: takeOverAfterMs, backoffCoefficient: 1 } as const;

export interface TaskOptions {
  readonly placement: Placement;
  /** Tear-down of a whole cluster: give up soon on a node that does not answer. */
  readonly mayFail?: true;
}

/**
 * Schedules one task as an activity named for its action; queue, timeouts and retries come from the action's
 * row. An attempt that runs is always waited for, also when it is cancelled: a CREATE then still tells its
 * machine.
 */
export async function runTask(
  action: Action,
  request: TaskRequest,
  options: TaskOptions,
): Promise<TaskOutcome> {
  const row = actionTable[action];
  const { placement } = options;
  const ownBudgetMs =
    action === 'CONFIRM'
      ? placement.confirmWithinMs
      : action === 'CREATE'
        ? placement.launchWithinMs
        : undefined;
  const budgetMs = ownBudgetMs ?? row.budgetMs;
  const ownLimit = request.service?.timeoutMs ?? request.command?.timeoutMs;
  return scheduleActivity<TaskOutcome>(action, [request], {
    activityId: request.taskId,
    taskQueue:
      row.queue === 'site' ? siteQueue(placement.site) : providerQueue(placement.site, placement.provider),
    summary: taskTitle(action, request.nodeId, request.service?.name),
    // The script's own limit ends it on the node; the attempt also connects and fetches the outcome.
    startToCloseTimeout:
      (ownLimit === undefined ? row.attemptMs : ownLimit + 60_000) + (request.check?.withinMs ?? 0),
    heartbeatTimeout: row.heartbeatMs,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    scheduleToCloseTimeout: budgetMs,
    retry:
      options.mayFail === true && row.target === 'automator' ? { ...takeOver, maximumAttempts: 3 } : takeOver,
  });
}

/**
 * Schedules one task of each of several nodes as one activity. What holds for the time of one task holds for
 * all together.
 */
export async function runTogether(
  action: TogetherAction,
  request: TogetherRequest,
  { placement }: TaskOptions,
): Promise<readonly TogetherEnd[]> {
  const { attemptMs, budgetMs, heartbeatMs } = actionTable[action];
  const timeMs = action === 'CREATE' ? (placement.launchWithinMs ?? budgetMs) : budgetMs;
  return scheduleActivity<readonly TogetherEnd[]>(togetherName(action), [request], {
    taskQueue: providerQueue(placement.site, placement.provider),
    summary: `${action} ${request.requests.length} nodes`,
    startToCloseTimeout: attemptMs,
    heartbeatTimeout: heartbeatMs,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    scheduleToCloseTimeout: timeMs,
    retry: takeOver,
  });
}

/**
 * Schedules an action on a machine that is there. While its answer is unknown it is tried again, within its
 * time and no longer than `leftMs`.
 */
export async function runMachineTask(
  action: MachineAction,
  request: MachineTaskRequest,
  {
    site,
    provider,
    leftMs = Number.POSITIVE_INFINITY,
  }: { readonly site: string; readonly provider: string; readonly leftMs?: number },
): Promise<MachineTaskOutcome> {
  const { queue, attemptMs, budgetMs, attempts } = machineActionTable[action];
  const limitMs = Math.min(budgetMs ?? Number.POSITIVE_INFINITY, leftMs);
  return scheduleActivity<MachineTaskOutcome>(action, [request], {
    activityId: request.taskId,
    taskQueue: {
      site: siteQueue(site),
      provider: providerQueue(site, provider),
      build: buildQueue(site),
      upload: uploadQueue(site),
    }[queue],
    summary: taskTitle(action, request.nodeId),
    startToCloseTimeout: Math.min(attemptMs, leftMs),
    ...(limitMs === Number.POSITIVE_INFINITY ? {} : { scheduleToCloseTimeout: limitMs }),
    heartbeatTimeout,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: attempts === undefined ? takeOver : { ...takeOver, maximumAttempts: attempts },
  });
}

/** Where a machine is to be had, and what can be done with it there. */
export async function runDescribeAccount(request: AccountRequest): Promise<AccountReply> {
  return scheduleActivity<AccountReply>('DESCRIBE_ACCOUNT', [request], {
    taskQueue: coreQueue,
    summary: `DESCRIBE_ACCOUNT ${request.provider}`,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: '5 minutes',
    retry: { initialInterval: takeOverAfterMs, maximumInterval: '10 seconds', maximumAttempts: 5 },
  });
}

/** Looks at machines of one provider account; changes nothing. */
export async function runSurvey({ site, provider }: Placement, request: SurveyRequest): Promise<SurveyReply> {
  return scheduleActivity<SurveyReply>('SURVEY', [request], {
    taskQueue: siteQueue(site),
    summary: `SURVEY ${request.nodes.length} nodes of ${provider}`,
    startToCloseTimeout: '2 minutes',
    scheduleToCloseTimeout: '5 minutes',
    heartbeatTimeout,
    retry: takeOver,
  });
}

/** Asks the server for earlier lives of a cluster that were cut short. */
export async function runEarlierRuns(request: EarlierRunsRequest): Promise<EarlierRunsReply> {
  return scheduleActivity<EarlierRunsReply>('EARLIER_RUNS', [request], {
    taskQueue: coreQueue,
    summary: `EARLIER_RUNS of ${request.clusterId}`,
    startToCloseTimeout: '1 minute',
    heartbeatTimeout,
    retry: {
      initialInterval: takeOverAfterMs,
      maximumInterval: '10 seconds',
      backoffCoefficient: 1.5,
      maximumAttempts: 20,
    },
  });
}

/** Lists the machines of one account that are a cluster's. */
export async function runFindMachines(
  { site, provider }: Placement,
  request: FindMachinesRequest,
): Promise<FindMachinesReply> {
  return scheduleActivity<FindMachinesReply>('FIND_MACHINES', [request], {
    taskQueue: siteQueue(site),
    summary: `FIND_MACHINES of ${provider}`,
    startToCloseTimeout: '1 minute',
    heartbeatTimeout,
    retry: takeOver,
  });
}

/** Runs the planner, which is pure code beside the configuration of a worker. */
export async function runPlan<Result>(input: unknown, summary: string): Promise<Result> {
  return scheduleActivity<Result>('PLAN', [input], {
    taskQueue: coreQueue,
    summary,
    startToCloseTimeout: '1 minute',
    heartbeatTimeout,
    retry: {
      initialInterval: takeOverAfterMs,
      maximumInterval: '10 seconds',
      backoffCoefficient: 1.5,
      maximumAttempts: 20,
    },
  });
}

/** What the sweep is to look at, as the configuration of a worker has it. */
export async function runSweepGround(): Promise<SweepGround> {
  return scheduleActivity<SweepGround>('SWEEP_GROUND', [], {
    taskQueue: coreQueue,
    summary: 'SWEEP_GROUND',
    startToCloseTimeout: '30 seconds',
    scheduleToCloseTimeout: '5 minutes',
    retry: { initialInterval: '1 second', maximumInterval: '10 seconds' },
  });
}

/** Looks for machines of one account that nobody has. */
export async function runFindLeaks(site: string, request: FindLeaksRequest): Promise<FindLeaksReply> {
  return scheduleActivity<FindLeaksReply>('FIND_LEAKS', [request], {
    // A site without workers is told soon, not waited for.
    taskQueue: siteQueue(site),
    summary: `FIND_LEAKS of ${request.provider.name}`,
    scheduleToStartTimeout: '30 seconds',
    startToCloseTimeout: '2 minutes',
    scheduleToCloseTimeout: '6 minutes',
    heartbeatTimeout,
    retry: takeOver,
  });
}

/** Has workflows say of machines that they do not have them, and never will. */
export async function runDisown(request: DisownRequest): Promise<DisownReply> {
  return scheduleActivity<DisownReply>('DISOWN', [request], {
    taskQueue: coreQueue,
    summary: `DISOWN ${request.machines.length} machines`,
    startToCloseTimeout: '2 minutes',
    retry: { initialInterval: '1 second', maximumInterval: '10 seconds', maximumAttempts: 3 },
  });
}

/** Checks the configuration of a pool against what workers have, and finds where its machines come from. */
export async function runPlanPool(input: {
  readonly poolName: string;
  readonly spec: unknown;
}): Promise<PoolPlan> {
  return scheduleActivity<PoolPlan>('PLAN_POOL', [input], {
    taskQueue: coreQueue,
    summary: `PLAN_POOL of ${input.poolName}`,
    startToCloseTimeout: '1 minute',
    heartbeatTimeout,
    retry: { initialInterval: '1 second', maximumInterval: '10 seconds', maximumAttempts: 10 },
  });
}

/** Tells a provider that a node of a pool is ready again after use. */
export async function runNodeReused({ site }: Placement, request: NodeReusedRequest): Promise<void> {
  return scheduleActivity<void>('NODE_REUSED', [request], {
    taskQueue: siteQueue(site),
    summary: `NODE_REUSED ${request.node.nodeId}`,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: '5 minutes',
    heartbeatTimeout,
    retry: { initialInterval: '1 second', maximumInterval: '10 seconds', maximumAttempts: 3 },
  });
}

/** Reads what a provider account allows, and what of it is in use. */
export async function runReadQuota({ site }: Placement, request: QuotaRequest): Promise<QuotaReply> {
  return scheduleActivity<QuotaReply>('READ_QUOTA', [request], {
    taskQueue: siteQueue(site),
    summary: `READ_QUOTA of ${request.provider.name}`,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: '2 minutes',
    heartbeatTimeout,
    retry: { initialInterval: '1 second', maximumInterval: '10 seconds', maximumAttempts: 3 },
  });
}

/** Checks how an image is made against what workers have: plugins, provider accounts, commands. */
export async function runCheckImage(request: CheckImageRequest): Promise<CheckedImage> {
  return scheduleActivity<CheckedImage>('CHECK_IMAGE', [request], {
    taskQueue: coreQueue,
    summary: `CHECK_IMAGE ${request.name}`,
    startToCloseTimeout: '1 minute',
    heartbeatTimeout,
    retry: { initialInterval: takeOverAfterMs, maximumInterval: '10 seconds', maximumAttempts: 10 },
  });
}

/** A node, for a look at its machine. */
export async function runFindNode(request: FindNodeRequest): Promise<FoundNode> {
  return scheduleActivity<FoundNode>('FIND_NODE', [request], {
    taskQueue: coreQueue,
    summary: `FIND_NODE ${request.node.node} of ${request.node.name}`,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: '5 minutes',
    heartbeatTimeout,
    retry: { initialInterval: takeOverAfterMs, maximumInterval: '10 seconds', backoffCoefficient: 1.5 },
  });
}

/** Has whoever carries a node let another workflow work on it. Refused while it is busy or gone. */
export async function runBorrowNode(request: BorrowNodeRequest): Promise<FoundNode> {
  return scheduleActivity<FoundNode>('BORROW_NODE', [request], {
    taskQueue: coreQueue,
    summary: `BORROW_NODE ${request.node.node} of ${request.node.name}`,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: '5 minutes',
    heartbeatTimeout,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: takeOverAfterMs, maximumInterval: '10 seconds', backoffCoefficient: 1.5 },
  });
}

/** Whether whoever borrowed a node still works on it. */
export async function runLookBorrower(request: LookBorrowerRequest): Promise<LookBorrowerReply> {
  return scheduleActivity<LookBorrowerReply>('LOOK_BORROWER', [request], {
    taskQueue: coreQueue,
    summary: `LOOK_BORROWER ${request.to}`,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: '5 minutes',
    heartbeatTimeout,
    retry: { initialInterval: takeOverAfterMs, maximumInterval: '10 seconds', backoffCoefficient: 1.5 },
  });
}

/** The machines and images there are, by the ids of their workflows. */
export async function runListRounds(): Promise<{ readonly workflows: readonly string[] }> {
  return scheduleActivity<{ readonly workflows: readonly string[] }>('LIST_ROUNDS', [], {
    taskQueue: coreQueue,
    summary: 'LIST_ROUNDS',
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: '5 minutes',
    retry: { initialInterval: '1 second', maximumInterval: '10 seconds' },
  });
}

/** Which registered machines would do for a reservation. */
export async function runFindComputers(request: FindComputersRequest): Promise<FindComputersReply> {
  return scheduleActivity<FindComputersReply>('FIND_COMPUTERS', [request], {
    taskQueue: coreQueue,
    summary: 'FIND_COMPUTERS',
    startToCloseTimeout: '2 minutes',
    scheduleToCloseTimeout: '5 minutes',
    heartbeatTimeout,
    retry: { initialInterval: takeOverAfterMs, maximumInterval: '10 seconds', maximumAttempts: 5 },
  });
}

/** Has a machine carry out one operation. It only waits, so a cancelled one is not waited for. */
export async function runOperateMachine(request: OperateMachineRequest): Promise<OperateMachineReply> {
  return scheduleActivity<OperateMachineReply>('OPERATE_MACHINE', [request], {
    taskQueue: coreQueue,
    summary: `${request.intent.kind} ${request.machine}`,
    startToCloseTimeout: '1 day',
    heartbeatTimeout,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { initialInterval: takeOverAfterMs, maximumInterval: '10 seconds', backoffCoefficient: 1.5 },
  });
}

/** Tells whoever heddle.yaml names of a reservation. */
export async function runNotify(tidings: Tidings): Promise<{ readonly told: number }> {
  return scheduleActivity<{ readonly told: number }>('NOTIFY', [tidings], {
    taskQueue: coreQueue,
    summary: `NOTIFY ${tidings.event} of ${tidings.reservation.id}`,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: '10 minutes',
    heartbeatTimeout,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { initialInterval: '2 seconds', maximumInterval: '1 minute', maximumAttempts: 5 },
  });
}
