import { CancellationScope, isCancellation, log } from '@temporalio/workflow';
import type { FailureRecord } from '../../model/node/failure.js';
import type { CurrentTask, NodeState } from '../../model/node/state.js';
import type { Step } from '../../model/plan/plan.js';
import { lacksRoom } from '../../model/node/room.js';
import { refuseRemoval } from '../../model/plan/machines/removals.js';
import type { ServiceSpec } from '../../model/cluster/spec.js';
import { chainsOf, type Chain, type Work } from '../../model/cluster/work.js';
import { change, noteChange, now } from '../entity.js';
import { announceNode, changeNode, dropNode, publishNode, type NodesMemory } from './memory.js';
import { createSemaphore, type Semaphore } from '../permits.js';
import { runNode, type NodeHooks } from '../run-node.js';
import type { CarriedNode, TaskBase } from '../task-request.js';
import { conditionOf } from '../inbox.js';

/**
 * The nodes that one workflow carries, and what it must ask of the whole cluster: gates, batch slots,
 * numbers, counts.
 */
export interface Executor {
  readonly memory: NodesMemory;
  service(name: string): ServiceSpec | undefined;
  taskBase(): TaskBase;
  /** Tasks in flight at once. A node that waits at a gate, or between probes, holds no permit. */
  readonly inFlight: number;
  /** What its nodes may have: see `payloadBounds`. */
  readonly payloadBound: number;
  isOpen(gate: string): boolean;
  /** A task that the gate counts has ended. */
  count(gate: string): void;
  /** Requests a batch slot; `holdsBatchSlot` says when it is granted. */
  requestBatchSlot(batchSlot: string, nodeId: string): void;
  holdsBatchSlot(batchSlot: string, nodeId: string): boolean;
  releaseBatchSlot(batchSlot: string, nodeId: string): void;
  paused(): boolean;
  /** A machine was given up undeleted. */
  abandoned(machine: string): void;
  /** A node joined, left or changed its address; these are its services. */
  announced(services: readonly string[]): void;
  tasks(change: { readonly total?: number; readonly done?: number; readonly failed?: number }): void;
  /** A node failed permanently; `remaining` lists its unfinished steps, the failed one first. */
  failed(node: NodeState, failure: FailureRecord, remaining: readonly Step[]): void;
}

/** All chains of a work, side by side. */
export interface Run {
  /** Every chain has ended, one way or the other. */
  over(): boolean;
  /** What has not ended waits for a gate or a batch slot that opens only through an event from outside. */
  quiet(): boolean;
  /** Some node is at a CREATE: its machine must be known before anything else may happen to it. */
  creating(): boolean;
  /** Starts no further step. Running tasks continue to their end; then `over` is true. */
  stop(): void;
  /** Also cancels running tasks. */
  cancel(): void;
  /** Ignores everything that this run still reports. */
  abandon(): void;
  /** Cancels the task of one node, which is no longer carried: its remaining steps block no other node. */
  forget(nodeId: string): void;
}

interface Progress {
  readonly executor: Executor;
  readonly permits: Semaphore;
  /** Of the nodes that wait. */
  readonly waiting: Record<string, Waiting>;
  open: number;
  stopping: boolean;
  abandoned: boolean;
  /** A fault of a chain. It fails the workflow task; a promise that nobody awaits would end the worker. */
  fault?: Error;
  readonly forgotten: Set<string>;
}

interface Waiting {
  readonly mayGoOn: () => boolean;
  readonly goOn: () => void;
  /** For a gate or a batch slot, not for the end of a pause. */
  readonly isQuiet: boolean;
}

/**
 * Starts the chains of the executor's work at each node's position. After a failure, independent chains
 * continue to their end.
 */
export function startRun(executor: Executor, work: Work): Run {
  const chains = chainsOf(work).filter((chain) => isStartable(executor, work, chain));
  const progress: Progress = {
    executor,
    permits: createSemaphore(executor.inFlight),
    waiting: {},
    open: chains.length,
    stopping: false,
    abandoned: false,
    forgotten: new Set(),
  };
  void CancellationScope.nonCancellable(() => admit(progress, chains));
  const scopes: Record<string, CancellationScope> = {};
  const scope = new CancellationScope({ cancellable: true });
  const running = scope.run(() =>
    Promise.all(
      chains.map(async (chain) => {
        const own = new CancellationScope({ cancellable: true });
        scopes[chain.nodeId] = own;
        return own.run(() => carryNode(progress, work, chain));
      }),
    ),
  );
  running.catch((error: unknown) => {
    if (!isCancellation(error)) progress.fault = error instanceof Error ? error : new Error(String(error));
  });
  return {
    over: () => {
      if (progress.fault !== undefined) throw progress.fault;
      return progress.open === 0;
    },
    quiet: () => {
      const waiting = Object.values(progress.waiting).filter(({ isQuiet }) => isQuiet);
      return waiting.length === progress.open && waiting.every(({ mayGoOn }) => !mayGoOn());
    },
    creating: () =>
      Object.values(executor.memory.state.nodes).some(
        ({ current }) => current?.action === 'CREATE' && current.state === 'running',
      ),
    stop: () => {
      progress.stopping = true;
      progress.permits.close();
    },
    cancel: () => scope.cancel(),
    abandon: () => {
      progress.abandoned = true;
    },
    forget: (nodeId) => {
      const chain = chains.find((one) => one.nodeId === nodeId);
      if (chain === undefined) return;
      progress.forgotten.add(nodeId);
      skipSteps(executor, chain);
      scopes[nodeId]?.cancel();
    },
  };
}

/**
 * Lets nodes go on in the order of their chains, after all results that have arrived. The order in which they
 * began to wait would depend on how the history is cut.
 */
async function admit(progress: Progress, chains: readonly Chain[]): Promise<void> {
  const mayGoOn = (waiting: Waiting): boolean => progress.stopping || waiting.mayGoOn();
  while (progress.open > 0) {
    await conditionOf('node', () => progress.open === 0 || Object.values(progress.waiting).some(mayGoOn));
    for (const { nodeId } of chains) {
      const waiting = progress.waiting[nodeId];
      if (waiting === undefined || !mayGoOn(waiting)) continue;
      delete progress.waiting[nodeId];
      waiting.goOn();
    }
  }
}

/** Waits for its turn after all results that have arrived, also if it may go on now. */
async function untilMayGoOn(
  { waiting }: Progress,
  nodeId: string,
  { mayGoOn, isQuiet }: Omit<Waiting, 'goOn'>,
): Promise<void> {
  const next = new Promise<void>((goOn) => {
    waiting[nodeId] = { mayGoOn, goOn, isQuiet };
  });
  try {
    await Promise.race([next, CancellationScope.current().cancelRequested]);
  } finally {
    delete waiting[nodeId];
  }
}

/** What a node will not do blocks no other node. */
export function passOver(
  executor: Pick<Executor, 'count' | 'releaseBatchSlot'>,
  nodeId: string,
  remaining: readonly Pick<Step, 'counts' | 'batchSlot'>[],
): void {
  for (const { counts } of remaining) if (counts !== undefined) executor.count(counts);
  for (const batchSlot of new Set(remaining.flatMap((step) => step.batchSlot ?? [])))
    executor.releaseBatchSlot(batchSlot, nodeId);
}

function isStartable({ memory }: Executor, work: Work, { nodeId, kind }: Chain): boolean {
  const node = memory.state.nodes[nodeId];
  const begun = work.positions[nodeId] ?? 0;
  return (
    node !== undefined &&
    // A command also runs on a node that failed in an earlier operation.
    (node.failure === undefined || kind.purpose === 'exec') &&
    (begun < kind.chain.length || kind.purpose === 'remove')
  );
}

async function carryNode(progress: Progress, work: Work, chain: Chain): Promise<void> {
  const { executor } = progress;
  try {
    const node = nodeOf(progress, work, chain);
    const hooks = hooksOf(progress, chain);
    let failure: FailureRecord | undefined;
    const end = await runNode(node, chain.kind.chain, {
      ...hooks,
      stepFailed: (step, failed) => {
        failure = failed;
        hooks.stepFailed?.(step, failed);
      },
    });
    if (isIgnored(progress, chain.nodeId)) return;
    if (end === 'done' && chain.kind.purpose === 'remove') dropRemoved(executor.memory, chain.nodeId);
    const failed = executor.memory.state.nodes[chain.nodeId];
    if (end !== 'failed' || failed === undefined || failure === undefined) return;
    const remaining = chain.kind.chain.slice(positionOf(executor, chain));
    // A command runs once, also if this workflow continues as new.
    if (chain.kind.purpose === 'exec') passStep(executor.memory, chain.nodeId, chain.kind.chain.length);
    executor.failed(failed, failure, remaining);
  } finally {
    progress.open -= 1;
    noteChange(executor.memory);
  }
}

function isIgnored({ abandoned, forgotten }: Progress, nodeId: string): boolean {
  return abandoned || forgotten.has(nodeId);
}

function skipSteps(executor: Executor, chain: Chain): void {
  const { nodeId, kind } = chain;
  const remaining = kind.chain.slice(positionOf(executor, chain));
  passOver(executor, nodeId, remaining);
  executor.tasks({ total: -remaining.length });
}

/** A node that still has a machine is never forgotten. */
function dropRemoved(memory: NodesMemory, nodeId: string): void {
  if (memory.state.nodes[nodeId]?.facts.machine === undefined) dropNode(memory, nodeId);
}

function positionOf({ memory }: Executor, { nodeId }: Chain): number {
  return memory.state.work?.positions[nodeId] ?? 0;
}

function nodeOf(progress: Progress, work: Work, chain: Chain): CarriedNode {
  const { executor } = progress;
  const { memory } = executor;
  const { nodeId, kind } = chain;
  // Work on a node that is carried no longer still comes to its end.
  let last = memory.state.nodes[nodeId];
  return {
    operation: work.operation,
    begun: work.begun,
    retry: work.retry,
    position: positionOf(executor, chain),
    placements: work.placements[kind.group] ?? [],
    plugins: work.plugins,
    state: () => {
      last = memory.state.nodes[nodeId] ?? last;
      if (last === undefined) throw new Error(`node ${nodeId} does not exist`);
      return last;
    },
    change: (change) => {
      if (!isIgnored(progress, nodeId)) changeNode(memory, nodeId, change);
    },
    service: (name) => executor.service(name),
    removal: work,
    taskBase: () => executor.taskBase(),
  };
}

function hooksOf(progress: Progress, { nodeId }: Chain): Partial<NodeHooks> {
  const { executor } = progress;
  const { memory } = executor;
  // A task that ends long after it was given up must not change what others have done since.
  const unlessAbandoned =
    <Args extends readonly unknown[]>(act: (...args: Args) => void) =>
    (...args: Args): void => {
      if (!isIgnored(progress, nodeId)) act(...args);
    };
  return {
    beginStep: async (step) => !isIgnored(progress, nodeId) && waitFor(progress, nodeId, step),
    leave: unlessAbandoned((batchSlot) => executor.releaseBatchSlot(batchSlot, nodeId)),
    acquire: (step) => acquire(progress, nodeId, step),
    refusal: (step) => refusalOf(executor, nodeId, step),
    lacksRoom: (payload) => lacksRoom(memory.state.nodes, nodeId, payload, executor.payloadBound),
    passed: unlessAbandoned((position) => passStep(memory, nodeId, position)),
    stepDone: unlessAbandoned((step) => {
      if (step.counts !== undefined) executor.count(step.counts);
      executor.tasks({ done: 1 });
    }),
    stepFailed: unlessAbandoned((step, failure) => {
      log.warn(`${step.action} of ${nodeId} failed`, {
        kind: failure.kind,
        tolerated: step.mayFail === true,
      });
      executor.tasks({ failed: 1 });
    }),
    tasksAdded: unlessAbandoned((total) => executor.tasks({ total })),
    announced: unlessAbandoned(() => {
      announceNode(memory, nodeId);
      executor.announced(memory.state.nodes[nodeId]?.services ?? []);
    }),
    published: unlessAbandoned(() => publishNode(memory, nodeId)),
  };
}

function refusalOf({ memory }: Executor, nodeId: string, step: Step): string | undefined {
  const { work, nodes } = memory.state;
  const node = nodes[nodeId];
  return work === undefined || node === undefined ? undefined : refuseRemoval(node, step, work);
}

function passStep(memory: NodesMemory, nodeId: string, position: number): void {
  const { work } = memory.state;
  if (work === undefined) return;
  change(memory, { work: { ...work, positions: { ...work.positions, [nodeId]: position } } });
}

async function acquire(progress: Progress, nodeId: string, step: Step): Promise<(() => void) | undefined> {
  const { executor, permits } = progress;
  while (!isIgnored(progress, nodeId)) {
    if (executor.paused()) {
      changeNode(executor.memory, nodeId, (node) =>
        node.current === undefined ? node : { ...node, current: { ...node.current, state: 'paused' } },
      );
      await untilMayGoOn(progress, nodeId, { mayGoOn: () => !executor.paused(), isQuiet: false });
    }
    const release = await acquirePermit(permits, nodeId, step);
    const isPaused = executor.paused() && !progress.stopping;
    if (release !== undefined && !isPaused && !progress.stopping && !isIgnored(progress, nodeId))
      return release;
    release?.();
    if (!isPaused || release === undefined) return undefined;
  }
  return undefined;
}

/** CONFIRM mostly waits between probes, so it needs no permit. */
async function acquirePermit(
  permits: Semaphore,
  nodeId: string,
  step: Step,
): Promise<(() => void) | undefined> {
  if (step.action === 'CONFIRM') return () => undefined;
  return (await permits.take(nodeId)) ? () => permits.release() : undefined;
}

async function waitFor(progress: Progress, nodeId: string, step: Step): Promise<boolean> {
  const { executor } = progress;
  if (progress.stopping) return false;
  const { after: gates = [], batchSlot } = step;
  const areOpen = (): boolean => gates.every((gate) => executor.isOpen(gate));
  if (gates.length > 0 && !(await waitUntil(progress, nodeId, step, areOpen))) return false;
  if (batchSlot === undefined) return true;
  executor.requestBatchSlot(batchSlot, nodeId);
  return waitUntil(progress, nodeId, step, () => executor.holdsBatchSlot(batchSlot, nodeId));
}

async function waitUntil(
  progress: Progress,
  nodeId: string,
  step: Step,
  mayGoOn: () => boolean,
): Promise<boolean> {
  if (progress.stopping) return false;
  if (!mayGoOn()) showWaiting(progress, nodeId, step);
  await untilMayGoOn(progress, nodeId, { mayGoOn, isQuiet: true });
  return !progress.stopping;
}

function showWaiting({ executor }: Progress, nodeId: string, step: Step): void {
  const { action, service, after = [], batchSlot } = step;
  const gates = after.filter((gate) => !executor.isOpen(gate));
  const current: CurrentTask = {
    action,
    service,
    state: 'waiting',
    gates: gates.length > 0 || batchSlot === undefined ? gates : [`a batch slot (${batchSlot})`],
    since: now(),
  };
  changeNode(executor.memory, nodeId, (node) => ({ ...node, current }));
}
