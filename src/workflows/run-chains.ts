import { condition, log } from '@temporalio/workflow';
import { clusterWorkflowId } from '../model/names.js';
import type { Kind, Plan, Step } from '../model/plan.js';
import { servicesOf } from '../model/state.js';
import type { CurrentTask } from '../model/node.js';
import { announceNode, changeNode, countTasks, dropNode, show, type Memory } from './memory.js';
import { createCommandBudget, createPlaces, type CommandBudget, type Places } from './places.js';
import { runNode, type NodeOwner } from './run-node.js';

export interface Chain {
  readonly nodeId: string;
  readonly kind: Kind;
}

/** Tasks in flight at once. A node that waits at a gate, or between looks, holds no place. */
const places = 100;

interface Progress {
  readonly plan: Plan;
  readonly drain: () => boolean;
  readonly places: Places;
  readonly budget: CommandBudget;
  readonly passed: Record<string, number>;
  /** Gates that each waiting node waits for. */
  readonly waiting: Record<string, readonly string[]>;
  open: number;
  stopping: boolean;
}

/**
 * Runs all chains side by side and counts the gates between them. When something failed, what does not depend on it
 * goes on to its end.
 * @returns false when it stopped early because it was told to drain.
 */
export async function runChains(memory: Memory, plan: Plan, chains: readonly Chain[], drain: () => boolean): Promise<boolean> {
  const startable = chains.filter(({ nodeId }) => memory.state.nodes[nodeId]?.failure === undefined);
  const progress: Progress = {
    plan, drain, places: createPlaces(places), budget: createCommandBudget(), passed: {}, waiting: {}, open: startable.length, stopping: false,
  };
  const all = Promise.all(startable.map(async (chain) => {
    try {
      const end = await runNode(ownerOf(memory, progress, chain), chain.kind.chain);
      if (chain.kind.purpose === 'remove' && end === 'done') dropNode(memory, chain.nodeId);
      return end;
    } finally {
      progress.open -= 1;
      show(memory);
    }
  }));
  await Promise.race([all, condition(() => drain() || isSettled(progress))]);
  progress.stopping = true;
  progress.places.close();
  const ends = await all;
  return !(drain() && ends.includes('stopped'));
}

/** Every node that still runs waits for a gate that stays shut. */
function isSettled(progress: Progress): boolean {
  const waiting = Object.values(progress.waiting);
  return waiting.length === progress.open && waiting.every((gates) => !areOpen(progress, gates));
}

function areOpen(progress: Progress, gates: readonly string[]): boolean {
  return gates.every((gate) => (progress.passed[gate] ?? 0) >= (progress.plan.gates[gate] ?? 0));
}

function ownerOf(memory: Memory, progress: Progress, { nodeId, kind }: Chain): NodeOwner {
  const node = (): ReturnType<NodeOwner['node']> => {
    const found = memory.state.nodes[nodeId];
    if (found === undefined) throw new Error(`node ${nodeId} is gone`);
    return found;
  };
  return {
    operation: memory.state.operation?.id ?? '0',
    placements: progress.plan.placements[kind.group] ?? [],
    node,
    change: (change) => changeNode(memory, nodeId, change),
    announce: () => announceNode(memory, nodeId),
    waitFor: (step) => waitFor(memory, progress, nodeId, step),
    takePlace: async (step) => {
      const granted = holdsPlace(step) ? await progress.places.take() : true;
      const wanted = granted && !progress.stopping && !progress.drain();
      if (granted && !wanted && holdsPlace(step)) progress.places.giveBack();
      if (wanted) show(memory);
      return wanted;
    },
    givePlaceBack: (step) => {
      if (holdsPlace(step)) progress.places.giveBack();
    },
    spend: (size) => progress.budget.spend(size),
    stepDone: (step) => {
      if (step.counts !== undefined) progress.passed[step.counts] = (progress.passed[step.counts] ?? 0) + 1;
      countTasks(memory, { done: (memory.state.operation?.tasks.done ?? 0) + 1 });
      show(memory);
    },
    addTasks: (count) => countTasks(memory, { total: (memory.state.operation?.tasks.total ?? 0) + count }),
    stepFailed: (step, failure) => {
      log.warn(`${step.action} of ${nodeId} failed`, { kind: failure.kind, tolerated: step.mayFail === true });
      countTasks(memory, { failed: (memory.state.operation?.tasks.failed ?? 0) + 1 });
    },
    nextIncarnation: () => {
      const { counters } = memory.state;
      memory.state = { ...memory.state, counters: { ...counters, incarnation: counters.incarnation + 1 } };
      return counters.incarnation + 1;
    },
    service: (name) => servicesOf(memory.state)[name],
    taskBase: () => ({
      clusterId: memory.state.name, clusterUid: memory.state.uid, cluster: memory.state.spec?.config ?? {},
      peersOf: clusterWorkflowId(memory.state.name), peersVersion: memory.state.peers.version,
    }),
    now,
  };
}

/** CONFIRM waits between looks most of its time. */
function holdsPlace(step: Step): boolean {
  return step.action !== 'CONFIRM';
}

async function waitFor(memory: Memory, progress: Progress, nodeId: string, step: Step): Promise<boolean> {
  const { after: gates = [], action, service } = step;
  if (progress.stopping || progress.drain()) return false;
  if (areOpen(progress, gates)) return true;
  const current: CurrentTask = {
    action, ...(service === undefined ? {} : { service }), state: 'waiting',
    gates: gates.filter((gate) => !areOpen(progress, [gate])), since: now(),
  };
  changeNode(memory, nodeId, (node) => ({ ...node, current }));
  show(memory);
  progress.waiting[nodeId] = gates;
  try {
    await condition(() => progress.stopping || progress.drain() || areOpen(progress, gates));
    return areOpen(progress, gates) && !progress.stopping && !progress.drain();
  } finally {
    delete progress.waiting[nodeId];
  }
}

function now(): string {
  return new Date(Date.now()).toISOString();
}
