import { actions, type Action, type AnyAction } from './action.js';
import type { BatchRequest, BatchResult } from './node/batch.js';
import type { CheckedImage, CheckImageRequest } from './image/messages.js';
import type { LeaseNodeRequest, FindNodeRequest, FoundNode } from './image/node.js';
import type { CheckLeaseReply, CheckLeaseRequest } from './node/lease.js';
import type {
  PreviousRunsReply,
  PreviousRunsRequest,
  FindMachinesReply,
  FindMachinesRequest,
  ProbeReply,
  ProbeRequest,
} from './node/probe.js';
import { isMachineAction } from './machine/actions.js';
import type {
  AccountReply,
  AccountRequest,
  MachineTaskOutcome,
  MachineTaskRequest,
} from './machine/messages.js';
import type { PlacementCheck, PlacementProblem } from './cluster/placement-check.js';
import type { PackedPlanRequest, PlanReply } from './cluster/messages.js';
import type { TaskOutcome, TaskRequest } from './node/task-request.js';
import type {
  NodeReusedRequest,
  PlanPoolRequest,
  PoolPlan,
  QuotaReply,
  QuotaRequest,
} from './pool/messages.js';
import type {
  FindCandidatesReply,
  FindCandidatesRequest,
  OperateMachineReply,
  OperateMachineRequest,
  StopLoadRequest,
} from './reservation/messages.js';
import type { Delivery, DeliveryReply } from './webhook.js';
import type { ReservationNotification } from './reservation/state.js';
import { retryAfterMs } from './resumption.js';
import type {
  DisownReply,
  DisownRequest,
  FindLeaksReply,
  FindLeaksRequest,
  ListAccountsRequest,
  SweepAccounts,
} from './sweep/sweep.js';

/** Limits, queue and retries of an activity. Durations are in ms. */
export interface ActivityRow {
  /**
   * `core`: any worker; `site`: the site's workers; `provider`: the rate-limited queue of the provider
   * account; `build`, `upload`: the site's builders.
   */
  readonly queue: 'core' | 'site' | 'provider' | 'build' | 'upload';
  /** The plugin, or part of one, that a task calls; absent: the engine itself. */
  readonly by?: 'provider' | 'automator' | 'system';
  /** The plugin's method for a machine action. */
  readonly method?: string;
  /** Limit of one attempt. */
  readonly attemptMs: number;
  /** Limit of all attempts together; absent: none. */
  readonly budgetMs?: number;
  /** Limit of the wait for a worker; absent: none. */
  readonly startWithinMs?: number;
  /** Limit between two progress reports of the plugin; absent: none. */
  readonly noProgressMs?: number;
  readonly retry: RetryRow;
  /** Does not wait for a cancelled attempt, which has no side effects. */
  readonly isAbandoned?: true;
  /** Concerns an image at a provider, not a machine. */
  readonly isImageOnly?: true;
}

/** An activity with the types of its request and its reply. */
interface Call<in Request, out Reply> extends ActivityRow {
  /** Never present. */
  readonly takes?: (request: Request) => Reply;
}

function call<Request, Reply>(row: ActivityRow): Call<Request, Reply> {
  return row;
}

const task = call<TaskRequest, TaskOutcome>;
const machineTask = call<MachineTaskRequest, MachineTaskOutcome>;

/** Retries after failures that may pass; the delay doubles with each attempt. */
export interface RetryRow {
  readonly initialMs: number;
  readonly maximumMs: number;
  /** Attempts after which a failure is permanent; absent: no limit. */
  readonly attempts?: number;
  /**
   * `worker`: each failure carries its own delay and says when it is permanent (activities/failures.ts). The
   * server only replaces attempts that were lost with their worker. `server`: Temporal's retry policy.
   */
  readonly by: 'worker' | 'server';
}

interface Heartbeats {
  /**
   * After so long without one the worker counts as dead. A false alarm is harmless: the next
   * attempt attaches.
   */
  readonly timeoutMs: number;
  /** The SDK's default, four fifths of the timeout, would leave less than a second until a false alarm. */
  readonly intervalMs: number;
}

export const heartbeats: Heartbeats = { timeoutMs: 4_000, intervalMs: 1_500 };

/** Groups have hundreds of tasks in progress, and each heartbeat is a write to the server's database. */
export const groupHeartbeats: Heartbeats = { timeoutMs: 10_000, intervalMs: 5_000 };

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const create: ActivityRow = {
  by: 'provider',
  queue: 'provider',
  attemptMs: 5 * minute,
  budgetMs: 30 * minute,
  retry: { by: 'worker', initialMs: second, maximumMs: 30 * second },
};
const del: ActivityRow = { ...create, budgetMs: hour };
const service: ActivityRow = {
  by: 'automator',
  queue: 'site',
  attemptMs: hour,
  // A retry only reconnects: it never starts a script a second time.
  retry: { by: 'worker', initialMs: second, maximumMs: 15 * second, attempts: 40 },
};

// While the answer to a machine action is unknown, it is requested again.
const machine = {
  queue: 'site',
  attemptMs: minute,
  budgetMs: 2 * minute,
  retry: { by: 'worker', initialMs: second, maximumMs: 15 * second },
} as const satisfies ActivityRow;
const question = { ...machine, by: 'provider' } as const;
const power = { ...question, queue: 'provider', attemptMs: 5 * minute, budgetMs: 10 * minute } as const;
const system = { ...machine, by: 'system', attemptMs: 15 * minute, budgetMs: 20 * minute } as const;
const transfer = {
  ...question,
  queue: 'upload',
  attemptMs: 6 * hour,
  budgetMs: 12 * hour,
  noProgressMs: 20 * minute,
  isImageOnly: true,
} as const;

const accountRead: ActivityRow = {
  queue: 'site',
  attemptMs: minute,
  retry: { by: 'worker', initialMs: second, maximumMs: 10 * second, attempts: 3 },
};

const core: ActivityRow = {
  queue: 'core',
  attemptMs: minute,
  retry: { by: 'server', initialMs: retryAfterMs, maximumMs: 10 * second },
};
const attempts = (limit: number): Pick<ActivityRow, 'retry'> => ({
  retry: { ...core.retry, attempts: limit },
});

const rows = {
  CREATE: task(create),
  CREATE_BATCH: call<BatchRequest, readonly BatchResult[]>(create),
  // One probe per attempt: waiting between probes costs neither history nor a worker slot.
  CONFIRM: task({
    by: 'provider',
    queue: 'site',
    attemptMs: minute,
    budgetMs: 10 * minute,
    retry: { by: 'worker', initialMs: 100, maximumMs: 10 * second },
  }),
  BOOTSTRAP: task(service),
  INSTALL: task(service),
  CONFIGURE: task(service),
  RELOAD: task(service),
  INITIALIZE: task(service),
  START: task(service),
  STOP: task(service),
  REMOVE: task(service),
  EXEC: task(service),
  DELETE: task(del),
  DELETE_BATCH: call<BatchRequest, readonly BatchResult[]>(del),

  NODE_STATUS: machineTask(machine),
  // Controllers lock an account after a few wrong passwords.
  ENROL: machineTask({ ...question, method: 'powerStatus', retry: { ...machine.retry, attempts: 3 } }),
  READ_HARDWARE: machineTask({ ...question, method: 'hardware', retry: { ...machine.retry, attempts: 3 } }),
  POWER_STATUS: machineTask({ ...question, method: 'powerStatus' }),
  POWER_ON: machineTask({ ...power, method: 'powerOn' }),
  POWER_OFF: machineTask({ ...power, method: 'powerOff' }),
  // Sent once: if the answer is lost, the result is unknown.
  POWER_RESET: machineTask({ ...power, method: 'powerReset', retry: { ...machine.retry, attempts: 1 } }),
  SET_BOOT: machineTask({ ...power, method: 'setBoot' }),
  BOOT_ONCE: machineTask({ ...power, method: 'bootOnce' }),
  IMAGE_EXISTS: machineTask({ ...question, method: 'imageExists' }),
  RETRIEVE_IMAGE: machineTask({
    ...power,
    method: 'retrieveImage',
    attemptMs: 24 * hour,
    budgetMs: 24 * hour,
    noProgressMs: 10 * minute,
  }),
  VERIFY_IMAGE: machineTask({
    ...question,
    method: 'verifyImage',
    attemptMs: 6 * hour,
    budgetMs: 6 * hour,
    noProgressMs: 10 * minute,
  }),
  GET_IMAGE_SIZE: machineTask({ ...question, method: 'imageSize' }),
  GET_CURRENT_IMAGE: machineTask(machine),
  // The limit of the whole load ends both earlier.
  LOAD: machineTask({
    ...power,
    method: 'load',
    attemptMs: 24 * hour,
    budgetMs: 24 * hour,
    noProgressMs: 10 * minute,
  }),
  CAPTURE: machineTask({
    ...power,
    method: 'capture',
    attemptMs: 6 * hour,
    budgetMs: 6 * hour,
    noProgressMs: 20 * minute,
  }),
  END_RUN: machineTask({ ...power, method: 'endRun' }),
  UNLOAD: machineTask({ ...power, method: 'unload', attemptMs: 10 * minute, budgetMs: 20 * minute }),
  // Overwriting a large disk takes many hours.
  ERASE: machineTask({ ...question, method: 'disksToErase', attemptMs: 24 * hour, budgetMs: 24 * hour }),
  // One probe per attempt, like CONFIRM.
  REACH: machineTask({ ...machine, budgetMs: 15 * minute }),
  // The disk is about to be overwritten, so this is not worth a long wait.
  PRE_RELOAD: machineTask({ ...system, method: 'preReload', budgetMs: 20 * second }),
  MARK_DISK: machineTask({ ...machine, budgetMs: 20 * second }),
  CHECK_MARK: machineTask(machine),
  POST_LOAD: machineTask({ ...system, method: 'postLoad' }),
  PRE_CAPTURE: machineTask({ ...system, method: 'preCapture' }),
  SANITIZE: machineTask({ ...system, method: 'sanitize' }),
  TAINT: machineTask({ ...machine, budgetMs: 5 * minute }),
  MAKE_PASSWORD: machineTask({ ...machine, budgetMs: 5 * minute }),
  GRANT_ACCESS: machineTask({ ...system, method: 'grantAccess', budgetMs: 5 * minute }),
  REVOKE_ACCESS: machineTask({ ...system, method: 'revokeAccess', budgetMs: 10 * minute }),
  ACQUIRE_PERMIT: machineTask({ ...machine, budgetMs: 30 * minute }),
  RELEASE_PERMIT: machineTask({ ...machine, budgetMs: 30 * minute }),
  // A request for a build waits until a builder has room for it.
  ACQUIRE_BUILD_PERMIT: machineTask({ queue: 'build', attemptMs: minute, retry: machine.retry }),
  BUILD_FILE: machineTask({ queue: 'build', attemptMs: 24 * hour, retry: machine.retry }),
  DOWNLOAD_IMAGE: machineTask({ ...transfer, method: 'downloadImage' }),
  UPLOAD_IMAGE: machineTask({ ...transfer, method: 'uploadImage' }),
  DELETE_IMAGE: machineTask({
    ...question,
    method: 'deleteImage',
    queue: 'provider',
    attemptMs: 5 * minute,
    budgetMs: 5 * minute,
    isImageOnly: true,
  }),
  // Without a builder the workflow tries again later.
  REMOVE_FILE: machineTask({ ...machine, queue: 'upload', budgetMs: minute }),

  PROBE_NODES: call<ProbeRequest, ProbeReply>({
    ...accountRead,
    attemptMs: 2 * minute,
    budgetMs: 5 * minute,
  }),
  FIND_MACHINES: call<FindMachinesRequest, FindMachinesReply>(accountRead),
  // A site without workers is reported soon instead of waited for.
  FIND_LEAKS: call<FindLeaksRequest, FindLeaksReply>({
    ...accountRead,
    startWithinMs: 30 * second,
    attemptMs: 2 * minute,
    budgetMs: 6 * minute,
  }),
  NODE_REUSED: call<NodeReusedRequest, void>({ ...accountRead, budgetMs: 5 * minute }),
  READ_QUOTA: call<QuotaRequest, QuotaReply>({ ...accountRead, budgetMs: 2 * minute }),
  // A preview does not wait for a site that does not answer.
  CHECK_PLACEMENT: call<PlacementCheck, { readonly problems: readonly PlacementProblem[] }>({
    ...accountRead,
    startWithinMs: 10 * second,
    attemptMs: 20 * second,
    budgetMs: 30 * second,
  }),

  PLAN: call<PackedPlanRequest, PlanReply>({ ...core, ...attempts(20) }),
  PLAN_POOL: call<PlanPoolRequest, PoolPlan>({ ...core, ...attempts(10) }),
  CHECK_IMAGE: call<CheckImageRequest, CheckedImage>({ ...core, ...attempts(10) }),
  DESCRIBE_ACCOUNT: call<AccountRequest, AccountReply>({ ...core, budgetMs: 5 * minute, ...attempts(5) }),
  FIND_PREVIOUS_RUNS: call<PreviousRunsRequest, PreviousRunsReply>({ ...core, ...attempts(20) }),
  // Whether this start, named by the id of its seal, has started no earlier workflow of this id.
  FIND_START: call<{ readonly start: string }, { readonly isNew: boolean }>({ ...core, ...attempts(20) }),
  LIST_ACCOUNTS: call<ListAccountsRequest, SweepAccounts>({ ...core, budgetMs: 5 * minute }),
  DISOWN: call<DisownRequest, DisownReply>({ ...core, attemptMs: 2 * minute, ...attempts(3) }),
  LIST_CHECKED: call<undefined, { readonly workflows: readonly string[] }>({ ...core, budgetMs: 5 * minute }),
  // Any worker may have the key. A message waits so long, so that a key can still be imported.
  FIND_KEY: call<{ readonly key: string }, void>({ ...core, budgetMs: 30 * second }),
  FIND_NODE: call<FindNodeRequest, FoundNode>({ ...core, budgetMs: 5 * minute }),
  LEASE_NODE: call<LeaseNodeRequest, FoundNode>({ ...core, budgetMs: 5 * minute }),
  CHECK_LEASE: call<CheckLeaseRequest, CheckLeaseReply>({ ...core, budgetMs: 5 * minute }),
  FIND_CANDIDATES: call<FindCandidatesRequest, FindCandidatesReply>({
    ...core,
    attemptMs: 2 * minute,
    budgetMs: 5 * minute,
    ...attempts(5),
  }),
  OPERATE_MACHINE: call<OperateMachineRequest, OperateMachineReply>({
    ...core,
    attemptMs: 24 * hour,
    isAbandoned: true,
  }),
  STOP_LOAD: call<StopLoadRequest, void>({ ...core, attemptMs: hour, isAbandoned: true }),
  DELIVER: call<Delivery, DeliveryReply>({
    ...core,
    attemptMs: minute,
    budgetMs: 72 * hour,
    retry: { by: 'server', initialMs: 5 * second, maximumMs: hour },
  }),
  NOTIFY: call<ReservationNotification, { readonly notified: number }>({
    ...core,
    budgetMs: 10 * minute,
    isAbandoned: true,
    retry: { by: 'server', initialMs: 2 * second, maximumMs: minute, attempts: 5 },
  }),
} satisfies Readonly<Record<AnyAction, ActivityRow>> & Readonly<Record<string, ActivityRow>>;

export type ActivityName = keyof typeof rows;

/** Every activity, by its type name. */
export const activityTable: Readonly<Record<ActivityName, ActivityRow>> = rows;

/** The activities as functions. */
export type Activities = {
  readonly [Name in ActivityName]: (typeof rows)[Name] extends Call<infer Request, infer Reply>
    ? (request: Request) => Promise<Reply>
    : never;
};

export function isNodeAction(name: string): name is Action {
  return (actions as readonly string[]).includes(name);
}

export function isAction(name: string): name is AnyAction {
  return isNodeAction(name) || isMachineAction(name);
}
