import { ActivityFailure, ApplicationFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import type { PackedPlanRequest, PlanReply } from '../../model/cluster/messages.js';
import { discardOf, keyOfOperation } from '../../model/cluster/operation.js';
import { operationKey } from '../../model/names.js';
import { packCurrent, unpackPlan } from '../../model/plan/packed.js';
import { cutText } from '../../model/carried.js';
import { isEmptyPlan, taskCount, type ServedPlan } from '../../model/plan/plan.js';
import { isRejection } from '../../model/plan/plan-error.js';
import { bringsToSpec, describeIntent, retriedBy } from '../../model/plan/intent/intent.js';
import { removalsOf } from '../../model/plan/machines/removals.js';
import { holdsForRepairOnly, removalPolicy } from '../../model/cluster/repair.js';
import { aimOf, countsBefore, servicesOf, type ClusterState } from '../../model/cluster/state.js';
import { differingCounts, plannedCounts, type Counts } from '../../model/cluster/scaled.js';
import { summarise } from '../../model/plan/facts/summarise.js';
import { adoptOfLostGroups, adoptPreviousRun, tracesAfter, type FoundMachines } from './adoption.js';
import { cancelRun } from './carried-nodes.js';
import { clusterExecutor } from './cluster-executor.js';
import { startRun, type Run } from './executor.js';
import { discardIncomplete } from './discard.js';
import { noteStart } from './events.js';
import {
  areSent,
  endEmptyGroups,
  forgetGroup,
  groupsOver,
  groupsQuiet,
  instructAll,
  instructWorking,
  lostGroups,
} from './groups.js';
import { changeNodes, changeOperation, type Memory } from './memory.js';
import { hasSettledServices, isHeldByFailures, settleOperation } from './settle.js';
import { schedule } from '../schedule.js';
import { nextNodenum, assignGroups } from './assign-groups.js';
import { importsFor, reportAgain } from './outputs.js';
import { probeNodes } from './probe-nodes.js';
import { endRevisions, noteRevision, storeRevision } from './revisions.js';
import { servicesOfGroups, applyPlan } from './apply-plan.js';
import { condition, conditionOf } from '../inbox.js';
import { recorded } from '../recorded.js';
import { change } from '../entity.js';

export type OperationEnd = 'done' | 'failed' | 'held' | 'rejected' | 'halted' | 'continue';

/** Of why a plan was rejected, in bytes of JSON. */
const longestReason = 10_000;

/**
 * Carries out the operation in `memory.state.operation` from its recorded position. At first, and after a
 * retry, it probes the machines and plans the remaining steps; after a continue-as-new it continues the
 * carried work.
 */
export async function operate(memory: Memory): Promise<OperationEnd> {
  if (memory.halt !== undefined) return halt(memory);
  if (memory.state.work === undefined) {
    const end = (await endUnplanned(memory)) ?? (await prepare(memory));
    if (end === 'halted') return halt(memory);
    if (end !== undefined) return end;
  }
  return executeWork(memory);
}

/**
 * Waits for what groups still do of a plan that was not carried from the run before. Gives the end of the
 * operation if nodes failed: a further plan would repeat their tasks unasked.
 */
async function endUnplanned(memory: Memory): Promise<OperationEnd | undefined> {
  if (memory.state.unplanned !== true) return undefined;
  await condition(() => groupsOver(memory) || memory.halt !== undefined);
  if (memory.halt !== undefined) return 'halted';
  endWork(memory);
  return isHeldByFailures(memory) ? settleOrReplaceLost(memory) : undefined;
}

/** Probes, plans, and applies the plan to the state. Returns an end if there is nothing to carry out. */
async function prepare(memory: Memory): Promise<OperationEnd | undefined> {
  try {
    await probeAllNodes(memory);
    if (memory.halt !== undefined) return 'halted';
    // A group that is lost later has its nodes in the plan.
    const lost = lostGroups(memory);
    const reply = await unlessHalted(memory, () => planWhatIsLeft(memory));
    if (reply === undefined || memory.halt !== undefined) return 'halted';
    change(memory, { webhooks: reply.webhooks });
    if (reply.rejected !== undefined) return refuse(memory, reply.rejected.message);
    const plan = unpackPlan(reply.plan);
    const found = await unlessHalted(memory, () => findMachines(memory, plan, lost));
    if (found === undefined || memory.halt !== undefined) return 'halted';
    const { adopted, refused } = found;
    if (refused !== undefined) return refuse(memory, refused);
    const revision = plan.spec && (await storeRevision(memory, plan.spec));
    if (memory.halt !== undefined) {
      await endRevisions(revision === undefined ? [] : [revision]);
      return 'halted';
    }
    const gone = plan.spec === undefined ? [] : noteRevision(memory, revision);
    adopt(memory, plan, { adopted, lost });
    await endRevisions(gone);
    return undefined;
  } catch (error) {
    if (isCancellation(error)) return 'halted';
    if (!(error instanceof ActivityFailure)) throw error;
    const { cause, message } = error;
    const why = cause?.message ?? message;
    if (cause instanceof ApplicationFailure && isRejection(cause.type)) return refuse(memory, why);
    noteReason(memory, why);
    return 'held';
  }
}

function refuse(memory: Memory, reason: string): OperationEnd {
  noteReason(memory, reason);
  const { planned, operation } = memory.state;
  // A user decides if something is partly done, such as what a rollback was to undo, or if no user waits for
  // the operation.
  const isLeft = planned === true || operation?.cause === 'failure' || operation?.cause === 'output';
  return isLeft ? 'held' : 'rejected';
}

function noteReason(memory: Memory, reason: string): void {
  changeOperation(memory, { reason: cutText(reason, longestReason) });
}

/** A worker that cannot plan, or find machines, must not keep a cancellation or a delete waiting. */
async function unlessHalted<Result>(
  memory: Memory,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  const scope = new CancellationScope();
  const halted = condition(() => memory.halt !== undefined).then(() => undefined);
  const result = await Promise.race([scope.run(work), halted]);
  if (memory.halt !== undefined) scope.cancel();
  return result;
}

async function findMachines(
  memory: Memory,
  plan: ServedPlan,
  lost: readonly string[],
): Promise<FoundMachines> {
  if (isFirst(memory, plan)) return adoptPreviousRun(memory, plan);
  if (lost.length > 0 && plan.spec !== undefined) return adoptOfLostGroups(memory, plan, lost);
  return { adopted: {} };
}

/** The cluster has made nothing yet, but a previous run may have. */
function isFirst({ state }: Memory, plan: ServedPlan): boolean {
  return plan.spec !== undefined && state.counters.nodenum === 0;
}

/** An apply repairs drift, so it probes all machines first; groups probe theirs. */
async function probeAllNodes(memory: Memory): Promise<void> {
  const { operation, name, uid, fresh = false, resumed, retry, history } = memory.state;
  if (operation === undefined) return;
  const probe = bringsToSpec(operation.kind);
  const { toReplace = [], retriedAt } = resumed ?? {};
  const named = fresh && operation.intent.kind === 'replace' ? operation.intent.nodes : toReplace;
  instructAll(memory, {
    do: 'begin',
    operation: operationKey(operation),
    fresh,
    toReplace: named,
    probe,
    retried: retriedBy(operation.intent),
    ...(resumed === undefined ? {} : { retry, retriedAt }),
    ...(operation.missing === undefined ? {} : { keepsExcluded: true }),
    ...(fresh && hasSettledServices(history[0]) ? { settled: true } : {}),
  });
  change(memory, { fresh: undefined, resumed: undefined });
  if (probe)
    await probeNodes({
      memory,
      clusterId: name,
      uid,
      services: servicesOf(memory.state),
      isHalted: () => memory.halt !== undefined,
    });
  await condition(() => groupsOver(memory) || memory.halt !== undefined);
}

async function planWhatIsLeft(memory: Memory): Promise<PlanReply> {
  const { operation, name, planned, consent } = memory.state;
  const intent = operation?.intent ?? { kind: 'apply' };
  const request: PackedPlanRequest = {
    clusterName: name,
    intent,
    current: packCurrent(summarise(memory.state)),
    spec: aimOf(memory.state),
    ...(planned === undefined ? {} : { again: planned }),
    ...(consent === undefined ? {} : { consent }),
  };
  const summary = `PLAN ${describeIntent(intent).slice(0, 60)} of ${name}`;
  return schedule('PLAN', request, { summary });
}

/** Takes the plan over into the state: the accepted spec, new nodes, nodes that leave, the work to do. */
function adopt(
  memory: Memory,
  plan: ServedPlan,
  { adopted, lost }: Pick<FoundMachines, 'adopted'> & { readonly lost: readonly string[] },
): void {
  const {
    spec,
    features,
    limits,
    gates,
    placements,
    plugins,
    imports,
    width = 1,
    widths,
    later = [],
    left,
  } = plan;
  change(memory, {
    features,
    limits,
    ...(plugins === undefined ? {} : { plugins }),
    traces: tracesAfter(memory, plan, adopted),
  });
  if (spec !== undefined) {
    for (const id of lost) forgetGroup(memory, id);
    const retired = Object.entries(servicesOf(memory.state)).filter(
      ([service]) => spec.services[service] === undefined,
    );
    change(memory, {
      target: undefined,
      imports: undefined,
      importsChanged: undefined,
      ...reportAgain(memory.state),
      spec,
      scaled: differingCounts(spec, countsOfOperation(memory.state)),
      retired: Object.fromEntries(retired),
      ...importsFor(memory.state, retired, imports),
    });
  }
  const operation = keyOfOperation(memory.state);
  const removals = memory.state.planned === true ? [] : removalsOf(plan);
  change(memory, {
    planned: true,
    consent: undefined,
    coordination: {
      needed: gates,
      passed: {},
      width,
      batchSlots: {},
      asked: [],
      ...(widths === undefined ? {} : { widths }),
    },
  });
  const inline = assignGroups(memory, plan, { operation, adopted, removals });
  const services = servicesOfGroups(plan);
  applyPlan(memory, {
    cluster: memory.state.name,
    kinds: inline,
    services,
    nodenum: () => nextNodenum(memory),
    adopted,
    operation,
    removals,
  });
  change(memory, {
    work: {
      ...removalPolicy(memory.state),
      operation,
      retry: memory.state.retry,
      kinds: inline,
      placements,
      positions: {},
      doneBefore: memory.state.operation?.tasks.done ?? 0,
      plugins,
      ...(later.length === 0 ? {} : { again: true }),
    },
  });
  const { done = 0, failed = 0 } = memory.state.operation?.tasks ?? {};
  // What an earlier part of the operation went on without is not why a later part is held.
  changeOperation(memory, { reason: undefined, tasks: { done, total: done + taskCount(plan), failed } });
  if (left !== undefined) changeOperation(memory, { left });
  if (isEmptyPlan(plan) && done === 0) changeOperation(memory, { unchanged: true });
  noteStart(memory);
}

/** The counts by scale that the plan of the operation under way has. */
function countsOfOperation(state: ClusterState): Counts {
  const { operation, scaled } = state;
  return operation === undefined
    ? scaled
    : plannedCounts(operation.intent, { scaled, scaledBefore: countsBefore(state) });
}

async function executeWork(memory: Memory): Promise<OperationEnd> {
  const { work } = memory.state;
  if (work === undefined) return settleOperation(memory);
  const executor = clusterExecutor(memory);
  const run = startRun(executor, work);
  memory.run = run;
  const isFull = (): boolean => recorded().continueAsNewSuggested;
  const isSettled = (): boolean => run.quiet() && groupsQuiet(memory);
  // After the nodes, which may continue with a result of the same moment.
  const isUnplanned = (): boolean => memory.state.unplanned === true;
  await conditionOf('operation', () => memory.halt !== undefined || isFull() || isSettled() || isUnplanned());
  if (memory.halt !== undefined) return halt(memory, run);
  const unfinished = !isSettled();
  run.stop();
  await condition(() => run.over() || memory.halt !== undefined);
  if (memory.halt !== undefined) return halt(memory, run);
  if (isUnplanned()) {
    // Groups still carry out their part of the plan that is given up here.
    endOwnWork(memory);
    return operate(memory);
  }
  if (unfinished) {
    await condition(() => areSent(memory) || memory.halt !== undefined);
    return memory.halt === undefined ? 'continue' : halt(memory, run);
  }
  instructWorking(memory, { do: 'halt', how: 'settle' });
  await condition(() => groupsOver(memory) || memory.halt !== undefined);
  if (memory.halt !== undefined) return halt(memory, run);
  const { again, doneBefore } = memory.state.work ?? work;
  endWork(memory);
  endEmptyGroups(memory);
  if (isHeldByFailures(memory)) return settleOrReplaceLost(memory);
  const end = settleOperation(memory);
  // A run without progress would be planned again and again: the remaining steps wait for an excluded node.
  const wentOn = (memory.state.operation?.tasks.done ?? 0) > doneBefore;
  return end === 'done' && again === true && wentOn ? operate(memory) : end;
}

async function settleOrReplaceLost(memory: Memory): Promise<OperationEnd> {
  const end = settleOperation(memory);
  return end === 'held' && holdsForRepairOnly(memory.state) ? replaceLost(memory) : end;
}

/** Plans again: the probes find the lost machines, and the plan replaces them. */
async function replaceLost(memory: Memory): Promise<OperationEnd> {
  const { repairs = 0, failures = [], missing, tasks } = memory.state.operation ?? {};
  // Nodes that the operation went on without stay failed.
  changeNodes(memory, (node) => {
    const { failure: _failure, ...rest } = node;
    return node.excluded !== undefined ? node : rest;
  });
  changeOperation(memory, {
    repairs: repairs + 1,
    ...(tasks === undefined ? {} : { tasks: { ...tasks, failed: missing?.count ?? 0 } }),
    failures: failures.filter(({ lost }) => lost === undefined),
  });
  return operate(memory);
}

/** Ends the operation early. A CREATE is waited for without limit: its machine must be known. */
async function halt(memory: Memory, run?: Run): Promise<OperationEnd> {
  const { operation } = memory.state;
  const discard = operation === undefined || memory.halt?.to === 'delete' ? undefined : discardOf(operation);
  instructAll(memory, { do: 'halt', how: 'cancel', ...(discard === undefined ? {} : { discard }) });
  if (run !== undefined) await cancelRun(run);
  endWork(memory);
  changeOperation(memory, { paused: undefined });
  if (discard !== undefined)
    await discardIncomplete(clusterExecutor(memory), discard, () => memory.halt?.to === 'delete');
  await condition(() => groupsOver(memory));
  endEmptyGroups(memory);
  return 'halted';
}

function endWork(memory: Memory): void {
  endOwnWork(memory);
  change(memory, { unplanned: undefined });
}

function endOwnWork(memory: Memory): void {
  delete memory.run;
  change(memory, { work: undefined, coordination: undefined });
}
