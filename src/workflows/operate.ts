import { ActivityFailure, ApplicationFailure, CancellationScope, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { PlanRequest } from '../model/messages.js';
import { hostname, nodeId, taskTitle } from '../model/names.js';
import type { NodeState } from '../model/node.js';
import { indexesOf, isEmptyPlan, taskCount, type Kind, type Plan, type ServedPlan } from '../model/plan.js';
import { withoutService } from '../model/record.js';
import { servicesOf } from '../model/state.js';
import { summarise } from '../model/summarise.js';
import { announceNode, changeNode, changeOperation, countTasks, dropNode, retireNode, show, type Memory } from './memory.js';
import { runChains, type Chain } from './run-chains.js';
import { runPlan } from './run-task.js';

export type OperationEnd = 'done' | 'held' | 'rejected' | 'preempted' | 'continue';

/** Longest wait, in ms, for tasks that were cancelled to make way for delete. CREATEs are waited for without limit. */
const preemptMs = 60_000;

/**
 * Carries out the operation in `memory.state.operation` from wherever it stands: it plans what is left and does it.
 * Made again after a crash, a retry or a continue-as-new it goes on where the facts are.
 */
export async function operate(memory: Memory): Promise<OperationEnd> {
  const kind = memory.state.operation?.kind ?? 'apply';
  let plan: ServedPlan;
  try {
    plan = await planWhatIsLeft(memory, kind);
  } catch (error) {
    if (isCancellation(error)) return 'preempted';
    const rejected = rejectionOf(error);
    if (rejected === undefined) throw error;
    changeOperation(memory, { reason: rejected.message });
    return rejected.invalid ? 'rejected' : 'held';
  }
  const chains = adopt(memory, plan);
  countTasks(memory, { total: (memory.state.operation?.tasks.done ?? 0) + taskCount(plan), failed: 0 });
  if (isEmptyPlan(plan) && memory.state.operation?.tasks.done === 0) changeOperation(memory, { unchanged: true });
  show(memory);
  return run(memory, plan, chains);
}

async function planWhatIsLeft(memory: Memory, kind: 'apply' | 'delete'): Promise<ServedPlan> {
  const request: PlanRequest = {
    clusterName: memory.state.name, kind, current: summarise(memory.state), ...(kind === 'apply' ? { spec: memory.state.target ?? memory.state.spec } : {}),
  };
  return runPlan<ServedPlan>(request, `PLAN ${kind} of ${memory.state.name}`);
}

function rejectionOf(error: unknown): { readonly message: string; readonly invalid: boolean } | undefined {
  if (!(error instanceof ActivityFailure)) return undefined;
  const { cause } = error;
  return { message: cause?.message ?? error.message, invalid: cause instanceof ApplicationFailure && cause.type === 'Invalid' };
}

/** Takes the plan over into the state: the accepted spec, new nodes, nodes that leave. */
function adopt(memory: Memory, plan: ServedPlan): readonly Chain[] {
  const { spec, features } = plan;
  memory.state = { ...memory.state, features };
  if (spec !== undefined) {
    const retired = Object.entries(servicesOf(memory.state)).filter(([name]) => spec.services[name] === undefined);
    const { target: _target, ...state } = memory.state;
    memory.state = { ...state, spec, retired: Object.fromEntries(retired) };
    for (const node of Object.values(memory.state.nodes)) {
      changeServices(memory, node.nodeId, spec.groups[node.group]?.services ?? node.services);
    }
  }
  return plan.kinds.flatMap((kind) => indexesOf(kind.nodes).map((index): Chain => {
    const id = nodeId(kind.group, index);
    ensureNode(memory, id, kind);
    return { nodeId: id, kind };
  }));
}

function changeServices(memory: Memory, id: string, services: readonly string[]): void {
  const before = memory.state.nodes[id]?.services ?? [];
  if (before.length === services.length && before.every((name) => services.includes(name))) return;
  announceNode(memory, id);
  changeNode(memory, id, (node) => ({ ...node, services }));
  announceNode(memory, id);
}

function ensureNode(memory: Memory, id: string, kind: Kind): void {
  const before = memory.state.nodes[id];
  if (kind.purpose === 'remove') {
    retireNode(memory, id);
    return;
  }
  if (before === undefined) {
    const { counters, name } = memory.state;
    const nodenum = counters.nodenum + 1;
    const node = {
      nodeId: id, group: kind.group, nodenum, hostname: hostname(name, id), incarnation: 0,
      payload: {}, facts: { services: {} }, services: kind.services, changedAt: 0, runs: {},
    };
    memory.state = { ...memory.state, counters: { ...counters, nodenum }, nodes: { ...memory.state.nodes, [id]: node } };
    announceNode(memory, id);
  } else if (before.leaving === true) {
    changeNode(memory, id, ({ leaving: _leaving, ...node }) => node);
    announceNode(memory, id);
  }
}

async function run(memory: Memory, plan: Plan, chains: readonly Chain[]): Promise<OperationEnd> {
  const scope = new CancellationScope({ cancellable: true });
  const drain = (): boolean => memory.preempted || workflowInfo().continueAsNewSuggested;
  let over = false;
  const running = scope.run(() => runChains(memory, plan, chains, drain)).finally(() => {
    over = true;
  });
  await Promise.race([running, condition(() => memory.preempted)]);
  if (memory.preempted) {
    scope.cancel();
    await condition(() => over || !creating(memory));
    await condition(() => over, preemptMs);
    return 'preempted';
  }
  return (await running) ? settle(memory) : 'continue';
}

function creating(memory: Memory): boolean {
  return Object.values(memory.state.nodes).some((node) => node.current?.action === 'CREATE' && node.current.state === 'running');
}

function settle(memory: Memory): OperationEnd {
  const failed = Object.values(memory.state.nodes).filter((node) => node.failure !== undefined);
  if (failed.length === 0) {
    tidy(memory);
    return 'done';
  }
  changeOperation(memory, { reason: reasonOf(failed) });
  return 'held';
}

function reasonOf([first, ...others]: readonly NodeState[]): string {
  const failure = first?.failure;
  if (first === undefined || failure === undefined) return 'a task failed';
  const { action, service, message } = failure;
  const title = taskTitle(action, first.nodeId, service);
  const what = message.startsWith(`${title}: `) ? message.slice(title.length + 2) : message;
  const where = service === undefined ? `${action} of ${first.nodeId}` : `${action} of ${service} on ${first.nodeId}`;
  return `${where} failed: ${what}${others.length === 0 ? '' : ` (and ${others.length} more nodes failed)`}`;
}

/** Forgets what is over: nodes that left, services that no node has. */
function tidy(memory: Memory): void {
  for (const node of Object.values(memory.state.nodes)) {
    if (node.leaving === true) dropNode(memory, node.nodeId);
    for (const service of Object.keys(node.facts.services)) {
      if (!node.services.includes(service)) changeNode(memory, node.nodeId, (before) => withoutService(before, service));
    }
  }
  const standing = new Set(Object.values(memory.state.nodes).flatMap((node) => Object.keys(node.facts.services)));
  const retired = Object.entries(memory.state.retired).filter(([name]) => standing.has(name));
  memory.state = { ...memory.state, retired: Object.fromEntries(retired) };
}
