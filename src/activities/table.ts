import { activityInfo, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { actions, type Action, type AnyAction } from '../model/action.js';
import {
  activityTable,
  isAction,
  isNodeAction,
  type Activities,
  type ActivityName,
} from '../model/activities.js';
import { machineActions, type MachineAction } from '../model/machine/actions.js';
import type { MachineTaskRequest } from '../model/machine/messages.js';
import type { TaskOutcome, TaskRequest } from '../model/node/task-request.js';
import type { ServerFeatures } from '../model/cluster/limits.js';
import type { Peer, Task } from '../model/node/task.js';
import { beatUntilEnded, beginAttempt, openAttempt, type Attempt } from './attempt.js';
import { runBootstrap, runServiceAction } from './automator/automator-task.js';
import { runCommand } from './automator/exec-task.js';
import { toFailure } from './failures.js';
import { checkImage } from './image/check-image.js';
import { libraryVerbs } from './image/library-verbs.js';
import { leaseNode, findNode, checkLease, type NodeLeases } from './image/lease-node.js';
import { describeAccount } from './machine/describe-account.js';
import { engineVerbs } from './machine/engine-verbs.js';
import { providerVerbs } from './machine/provider-verbs.js';
import { systemVerbs } from './machine/system-verbs.js';
import type { ActivityParts } from './parts.js';
import { explainLostContact } from './cluster/lost-machine.js';
import { findPreviousRuns } from './cluster/previous-runs.js';
import type { OutputReader } from './cluster/imports.js';
import { createPeersCache, type PeersCache } from './cluster/peers.js';
import { checkPlacement } from './cluster/check-placement.js';
import { checkPins } from './cluster/pins.js';
import { servePlan } from './cluster/plan.js';
import { planPool } from './pool/plan.js';
import { endUnsent, isSentOnce } from './provider/create-once.js';
import { findMachines } from './provider/find-machines.js';
import { runProviderTask } from './provider/provider-task.js';
import { PluginError } from '../plugins/errors.js';
import { readQuota } from './pool/read-quota.js';
import { notifyReused } from './pool/notify-reused.js';
import { createBatchActivities, type BatchActivities } from './provider/batch.js';
import { findCandidates } from './reservation/find-machines.js';
import { notify } from './reservation/notify.js';
import { deliver } from './webhook/deliver.js';
import { operateMachine } from './reservation/operate-machine.js';
import { stopLoad } from './reservation/stop-load.js';
import type { Computers } from './reservation/parts.js';
import { createSharedLists, type SharedLists } from './provider/shared-lists.js';
import { survey } from './cluster/probe-nodes.js';
import { findLeaks } from './sweep/find-leaks.js';
import { listChecked } from './sweep/list-checked.js';
import { disown, listAccounts } from './sweep/list-accounts.js';
import type { MachineHandler, TaskCall } from './task-call.js';
import { noTaskLog } from './task-log.js';
import { findStart } from './find-start.js';

/** What planning, images and reservations need beside the parts of tasks. */
export interface CoreParts extends ActivityParts {
  readonly features: ServerFeatures;
  readonly outputs: OutputReader;
  /** @throws an Error that says how to get the key, if the worker does not have it. */
  readonly findKey: (id: string) => void;
  readonly leases: NodeLeases;
  readonly computers: Computers;
}

/**
 * All activities by type name, as activityTable lists them. Workers register them on every queue they serve.
 */
export function createActivities(parts: CoreParts): Activities {
  return {
    ...createTaskActivities(parts),
    PLAN: heartbeating((request) => servePlan(parts, request)),
    PLAN_POOL: heartbeating((request) => planPool(parts, request)),
    CHECK_IMAGE: heartbeating((request) => checkImage(parts, request)),
    DESCRIBE_ACCOUNT: heartbeating((request) => describeAccount(parts, request)),
    FIND_PREVIOUS_RUNS: heartbeating((request) => findPreviousRuns(parts, request)),
    FIND_START: heartbeating((request) => findStart(parts, request)),
    LIST_ACCOUNTS: heartbeating((request) => listAccounts(parts, request)),
    DISOWN: heartbeating((request) => disown(parts, request)),
    LIST_CHECKED: heartbeating(() => listChecked(parts)),
    FIND_KEY: heartbeating(async ({ key }) => parts.findKey(key)),
    FIND_NODE: heartbeating(({ node }) => findNode(parts.leases, node)),
    LEASE_NODE: heartbeating((request) => leaseNode(parts.leases, request)),
    CHECK_LEASE: heartbeating((request) => checkLease(parts.leases, request)),
    FIND_CANDIDATES: heartbeating((request) => findCandidates(parts, request)),
    OPERATE_MACHINE: heartbeating((request) => operateMachine(parts, request)),
    STOP_LOAD: heartbeating((request) => stopLoad(parts, request)),
    DELIVER: heartbeating((request) => deliver(parts, request)),
    NOTIFY: heartbeating((notifications) => notify(parts, notifications)),
  };
}

const accountReads = {
  FIND_MACHINES: findMachines,
  FIND_LEAKS: findLeaks,
  NODE_REUSED: notifyReused,
  READ_QUOTA: readQuota,
  CHECK_PLACEMENT: checkPlacement,
};

export type TaskActivities = Pick<
  Activities,
  AnyAction | keyof BatchActivities | keyof typeof accountReads | 'PROBE_NODES'
>;

/** The activities that call plugins: tasks of nodes and machines, and probes of provider accounts. */
export function createTaskActivities(parts: ActivityParts): TaskActivities {
  const peers = createPeersCache(parts.askPeers);
  const lists = createSharedLists();
  const tasks = [...actions, ...machineActions].map(
    (action) =>
      [action, (request: TaskRequest) => runTask({ parts, peers, lists, action, request })] as const,
  );
  const reads = Object.entries({ PROBE_NODES: survey, ...accountReads }).map(
    ([name, read]) =>
      [
        name,
        (request: ReadRequest) => runRead(parts, lists, name as ActivityName, request, read as AccountRead),
      ] as const,
  );
  const batches = createBatchActivities((action, request, within) =>
    runTask({ parts, peers, lists, action, request, within }),
  );
  return { ...Object.fromEntries(tasks), ...Object.fromEntries(reads), ...batches } as TaskActivities;
}

const machineHandlers: Readonly<Record<MachineAction, MachineHandler>> = {
  ...providerVerbs,
  ...systemVerbs,
  ...engineVerbs,
  ...libraryVerbs,
};

interface TaskRun {
  readonly parts: ActivityParts;
  readonly peers: PeersCache;
  readonly lists: SharedLists;
  readonly action: AnyAction;
  readonly request: TaskRequest;
  /** Ends the attempt as a shutdown of the worker would. */
  readonly within?: AbortSignal;
}

/** One attempt of one task of a node or of a machine. */
async function runTask({ parts, peers, lists, action, request, within }: TaskRun): Promise<TaskOutcome> {
  const row = activityTable[action];
  const attempt = openAttempt(parts, action, request, pluginOf(action, request), within);
  const endOf = (failure: Error): Error =>
    isSentOnce(parts, action, request) ? endUnsent(failure, attempt) : failure;
  const ending = { attempt, name: action, endOf };
  return conclude(ending, async () => {
    // Callers of the server can raise the number of attempts.
    if (row.retry.attempts === 1 && !attempt.isFirst)
      throw new PluginError(
        'UnknownOutcome',
        `${action} is attempted only once, and an earlier attempt may have completed it`,
      );
    checkPins(parts.registry, request.plugins);
    const explaining = <Result>(call: TaskCall, result: Promise<Result>): Promise<Result> =>
      result.catch(async (error: unknown) => {
        throw await explainLostContact(error, call, lists);
      });
    if (!isNodeAction(action)) {
      const machineRequest = request as MachineTaskRequest;
      const task = toTask(action, request, {});
      const call = { parts, action, row, task, request: machineRequest, attempt };
      const outcome = await explaining(call, machineHandlers[action](call));
      return { ...outcome, log: attempt.output.name };
    }
    attempt.at('reads the peers');
    const nodes = await readNodes(peers, action, request);
    const call = { parts, action, row, task: toTask(action, request, nodes), request, attempt };
    const outcome = await explaining(call, nodeHandlerOf(action)(call));
    return { ...outcome, ...attempt.output.tails(), log: attempt.output.name };
  });
}

/**
 * The nodes that a task sees. CONFIGURE and later actions of services, which start when all
 * nodes are confirmed, and commands see the current list. INSTALL sees the last list that this
 * process has heard of, and tasks that belong to no service see one only if the process has it.
 */
async function readNodes(peers: PeersCache, action: Action, request: TaskRequest): Promise<Task['nodes']> {
  const own = { [request.nodeId]: ownPeer(request) };
  if (request.peers === 'none') return own;
  const isCurrent = action === 'EXEC' || (request.service !== undefined && action !== 'INSTALL');
  const leastVersion = request.service === undefined ? 0 : 1;
  const nodes = await peers.get(
    request.clusterUid,
    request.peersOf,
    isCurrent ? request.peersVersion : Math.min(request.peersVersion, leastVersion),
    activityInfo().workflowExecution,
  );
  return isCurrent ? withoutDrained(nodes, request) : { ...nodes, ...own };
}

function withoutDrained(nodes: Task['nodes'], { without }: TaskRequest): Task['nodes'] {
  if (without === undefined) return nodes;
  return Object.fromEntries(Object.entries(nodes).filter(([nodeId]) => !without.includes(nodeId)));
}

function ownPeer({ config }: TaskRequest): Peer {
  const { ipaddress, services } = config;
  const text = (key: string): string => (typeof config[key] === 'string' ? config[key] : '');
  return {
    hostname: text('hostname'),
    services: Array.isArray(services) ? services.map(String) : [],
    nodenum: Number(config['nodenum'] ?? 0),
    group: text('group'),
    ...(typeof ipaddress === 'string' ? { ipaddress } : {}),
  };
}

function nodeHandlerOf(action: Action): (call: TaskCall) => Promise<Pick<TaskOutcome, 'result' | 'found'>> {
  if (activityTable[action].by === 'provider') return runProviderTask;
  const run = action === 'EXEC' ? runCommand : action === 'BOOTSTRAP' ? runBootstrap : runServiceAction;
  return async (call) => ({ result: await run(call) });
}

/** The plugin that logs name. */
function pluginOf(action: AnyAction, { service, provider, order }: Partial<MachineTaskRequest>): string {
  const system = activityTable[action].by === 'system' ? order?.system : undefined;
  return system ?? service?.action.type ?? provider?.type ?? '-';
}

function toTask(action: AnyAction, request: TaskRequest, nodes: Task['nodes']): Task {
  const { taskId, clusterId, clusterUid, nodeId, incarnation, config, cluster, provider } = request;
  const service =
    request.service === undefined
      ? undefined
      : { name: request.service.name, action: request.service.action };
  return {
    taskId,
    taskName: action,
    clusterId,
    clusterUid,
    nodeId,
    incarnation,
    attempt: activityInfo().attempt,
    config: {
      ...config,
      provider: { providertype: provider.type },
      ...(service === undefined ? {} : { service }),
    },
    nodes,
    cluster,
    provider,
    service,
  };
}

interface ReadRequest {
  readonly provider: { readonly name: string };
  /** Absent if the request concerns no single cluster. */
  readonly clusterId?: string;
}

type AccountRead = (
  parts: ActivityParts,
  lists: SharedLists,
  request: ReadRequest,
  attempt: Attempt,
) => Promise<unknown>;

/** Runs one attempt of an activity that only reads a provider account; it keeps no log of its own. */
async function runRead(
  parts: ActivityParts,
  lists: SharedLists,
  name: ActivityName,
  request: ReadRequest,
  read: AccountRead,
): Promise<unknown> {
  const { clusterId, provider } = request;
  const attempt = beginAttempt(parts, {
    taskId: activityInfo().activityId,
    title: `${name} ${clusterId ?? provider.name}`,
    facts: { cluster: clusterId ?? '-', provider: provider.name },
    openLog: () => noTaskLog,
  });
  return conclude({ attempt, name }, () => read(parts, lists, request, attempt));
}

interface Ending {
  readonly attempt: Attempt;
  readonly name: ActivityName;
  readonly endOf?: (failure: Error) => Error;
}

/** Runs the work of an attempt and turns what it throws into the failure that the workflow reads. */
async function conclude<Result>(
  { attempt, name, endOf = (failure) => failure }: Ending,
  work: () => Promise<Result>,
): Promise<Result> {
  let isTaskOver = true;
  try {
    const result = await work();
    attempt.log.debug(`${attempt.title} done`);
    return result;
  } catch (error) {
    const { retry } = activityTable[name];
    const failure = endOf(toFailure(error, attempt, retry, isAction(name) ? name : undefined));
    isTaskOver = !(failure instanceof ApplicationFailure) || failure.nonRetryable === true;
    if (attempt.detach.aborted) attempt.log.debug(`${attempt.title} detached`, { reason: failure.message });
    else if (failure instanceof ApplicationFailure && failure.category === 'BENIGN')
      attempt.notReady(failure.message);
    else
      attempt.failed(
        failure.message,
        failure instanceof ApplicationFailure ? (failure.type ?? undefined) : undefined,
      );
    throw failure;
  } finally {
    await attempt.close();
    if (isTaskOver) attempt.output.flush();
  }
}

/** An activity without an attempt of its own to report. */
function heartbeating<Args extends unknown[], Result>(
  activity: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    const context = Context.current();
    const endBeats = beatUntilEnded(() => context.heartbeat());
    try {
      return await activity(...args);
    } finally {
      endBeats();
    }
  };
}
