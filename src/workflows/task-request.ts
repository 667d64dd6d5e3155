import { workflowInfo } from '@temporalio/workflow';
import { milliseconds } from '../model/milliseconds.js';
import { accountRef, type AssignedMachine } from '../model/node/assigned-machine.js';
import type { TaskRun } from '../model/node/run.js';
import type { NodeState } from '../model/node/state.js';
import type { Placement, PlannedPlacement, PluginPins } from '../model/node/placement.js';
import type { ServiceSpec, ServiceActionSpec } from '../model/cluster/spec.js';
import { usedVariables } from '../model/cluster/variables.js';
import { serviceActionKeys, type Action } from '../model/action.js';
import type { TaskRequest } from '../model/node/task-request.js';
import { taskId, type TaskName } from '../model/names.js';
import { usedConfig } from '../model/cluster/used-config.js';
import type { RemovalPolicy, Step } from '../model/plan/plan.js';
import { isDiscard } from '../model/plan/machines/removals.js';

/** For tasks about images, only the account and a key of its own. */
type TaskMachine = Omit<AssignedMachine, 'placement'> & {
  readonly placement: Pick<Placement, 'provider' | 'type' | 'fields'>;
};

/** The request of a task about a machine that has neither services nor peers. */
export function machineTask(
  { clusterId, uid: clusterUid, nodeId, incarnation, payload, placement }: TaskMachine,
  task: Pick<TaskName, 'action' | 'operation' | 'service' | 'begun'>,
): TaskRequest {
  return {
    taskId: taskId({ ...task, clusterUid, nodeId, incarnation }),
    clusterId,
    clusterUid,
    nodeId,
    incarnation,
    run: 1,
    operation: task.operation,
    config: payload,
    cluster: {},
    peersVersion: 0,
    peersOf: workflowInfo().workflowId,
    provider: accountRef(placement),
  };
}

/** Of a node that has never had a machine. */
const nowhere = { provider: '', type: '', fields: {} };

/** What the activity of a step is given. */
export function requestFor(owner: CarriedNode, step: Step, { number: run, retry }: TaskRun): TaskRequest {
  const node = owner.state();
  const base = owner.taskBase();
  const { placement } = node;
  const { action, service } = step;
  const spec = actionSpec(owner, step);
  const { command, variables = {}, absenceConfirmedAt: _confirmed, ...rest } = base;
  const check = action === 'START' && service !== undefined ? owner.service?.(service)?.check : undefined;
  const pins = pinsFor(owner, step);
  const used = spec === undefined ? undefined : usedVariables(spec.fields, variables);
  const { peers, uses } = (service === undefined ? undefined : owner.service?.(service)) ?? {};
  const { clusterId, clusterUid: uid } = base;
  // A command repeats nothing that the nodes were changed for.
  const begun = action === 'EXEC' ? undefined : owner.begun;
  const task = { action, service, operation: owner.operation, begun };
  return {
    ...machineTask({ ...node, clusterId, uid, placement: placement ?? nowhere }, task),
    ...rest,
    cluster: usedConfig(rest.cluster, uses),
    ...(action === 'EXEC' && command !== undefined ? { command } : {}),
    run,
    ...(retry === undefined ? {} : { retry }),
    config: { ...node.payload, services: node.services },
    ...(node.keyUid === undefined ? {} : { keyUid: node.keyUid }),
    ...(node.adopt === true ? { adopt: true } : {}),
    ...(action === 'CREATE' || action === 'DELETE' ? earlierCreate(node, base.absenceConfirmedAt) : {}),
    ...(action === 'DELETE' && owner.removal !== undefined && isDiscard(node, owner.removal)
      ? { discards: true, madeAt: node.madeAt }
      : {}),
    ...(node.facts.machine === undefined ? {} : { placement: node.facts.machine }),
    ...(action === 'CONFIRM' && placement?.answerWithinMs !== undefined
      ? { answerWithinMs: placement.answerWithinMs }
      : {}),
    ...(action === 'CREATE' && placement?.labels !== undefined ? { labels: placement.labels } : {}),
    ...(peers === 'none' ? { peers } : {}),
    ...(step.without === undefined ? {} : { without: step.without }),
    ...(pins === undefined ? {} : { plugins: pins }),
    ...(check === undefined ? {} : { check }),
    ...(used === undefined ? {} : { variables: used }),
    ...(action === 'BOOTSTRAP' ? { automators: automatorsOf(owner) } : {}),
    ...(service === undefined || spec === undefined
      ? {}
      : {
          service: {
            name: service,
            action: { type: spec.type, fields: spec.fields },
            timeoutMs: spec.timeout === undefined ? undefined : milliseconds(spec.timeout),
          },
        }),
  };
}

/** @param absenceConfirmedAt of the workflow: says nothing about a CREATE of this node that was begun */
function earlierCreate(
  node: Pick<NodeState, 'createBegun' | 'absenceConfirmedAt'>,
  absenceConfirmedAt: number | undefined,
): Pick<TaskRequest, 'createBegun' | 'absenceConfirmedAt'> {
  const confirmed = node.absenceConfirmedAt ?? (node.createBegun === true ? undefined : absenceConfirmedAt);
  return {
    ...(node.createBegun === true ? { createBegun: true } : {}),
    ...(confirmed === undefined ? {} : { absenceConfirmedAt: confirmed }),
  };
}

/** Tasks run only with the planned plugins. DELETE runs with any, since the machine must go. */
function pinsFor(owner: CarriedNode, step: Step): PluginPins | undefined {
  const { placement } = owner.state();
  const names =
    step.action === 'DELETE'
      ? []
      : step.action === 'BOOTSTRAP'
        ? automatorsOf(owner).map((name) => `automator ${name}`)
        : step.service === undefined
          ? [`provider ${placement?.type ?? ''}`]
          : [`automator ${actionSpec(owner, step)?.type ?? ''}`];
  const pins = names.flatMap((name) => {
    const pin = owner.plugins?.[name];
    return pin?.digest === undefined ? [] : [[name, pin] as const];
  });
  return pins.length === 0 ? undefined : Object.fromEntries(pins);
}

function automatorsOf(owner: CarriedNode): readonly string[] {
  const types = owner
    .state()
    .services.flatMap((name) => Object.values(owner.service?.(name)?.actions ?? {}).map(({ type }) => type));
  return [...new Set(types)];
}

/** The action of the step's service, as the spec has it; undefined for what belongs to no service. */
export function actionSpec(owner: CarriedNode, step: Step): ServiceActionSpec | undefined {
  return step.service === undefined ? undefined : owner.service?.(step.service)?.actions[keyOf(step.action)];
}

function keyOf(action: Action): keyof typeof serviceActionKeys {
  const key = Object.entries(serviceActionKeys).find(([, name]) => name === action)?.[0];
  return key as keyof typeof serviceActionKeys;
}

/** A node's state, which its workflow keeps, and what the tasks of its chain have in common. */
export interface CarriedNode {
  /** Key of the operation; its uid is part of the ids of its tasks. */
  readonly operation: string;
  /** Tells its tasks from those of the same operation that a group began before. */
  readonly begun?: number | undefined;
  /** Uid of the last retry of the operation. */
  readonly retry?: string | undefined;
  state(): NodeState;
  change(change: (node: NodeState) => NodeState): void;
  /** Steps of the chain that are done. Default: none. */
  readonly position?: number;
  /** Where the machine may come from, in order of preference. Default: nowhere. */
  readonly placements?: readonly PlannedPlacement[];
  /**
   * Machines to try before it fails; the last one is not cleaned up. Default: three, and each placement at
   * least once.
   */
  readonly launches?: number;
  /** Plugins as they were when the work was planned. */
  readonly plugins?: PluginPins;
  /** What judges removals from nodes of clusters. */
  readonly removal?: RemovalPolicy;
  service?(name: string): ServiceSpec | undefined;
  /** What every task carries. */
  taskBase(): TaskBase;
}

export interface TaskBase extends Pick<
  TaskRequest,
  | 'clusterId'
  | 'clusterUid'
  | 'cluster'
  | 'peersOf'
  | 'peersVersion'
  | 'command'
  | 'variables'
  | 'absenceConfirmedAt'
> {}
