import { isCancellation, sleep } from '@temporalio/workflow';
import type { FailureRecord } from '../model/failure.js';
import type { JsonObject } from '../model/json.js';
import type { TaskOutcome, TaskRequest } from '../model/messages.js';
import type { CurrentTask, NodeState } from '../model/node.js';
import { mergePayload } from '../model/payload.js';
import { machinePartOf } from '../model/result-table.js';
import type { PlannedPlacement, PluginPins, Step } from '../model/plan/plan.js';
import { recordBegun, recordDone, recordHealth, recordMachine } from '../model/record.js';
import type { ServiceSpec } from '../model/spec.js';
import { scheduleTask } from './schedule.js';
import { actionSpec, requestFor } from './task-request.js';
import { readTaskFailure } from './task-failure.js';

/**
 * What carries a node: a cluster, a group, a pool. It owns the node's state; run-node only says what changed.
 */
export interface NodeOwner {
  readonly operation: string;
  node(): NodeState;
  change(change: (node: NodeState) => NodeState): void;
  /** The node's address or membership changed. */
  announce(): void;
  /** Steps of the chain that the node has behind it. */
  position(): number;
  passed(position: number): void;
  /**
   * Resolves when the step's gates are open and its turn has come; to false when the operation stops before
   * that.
   */
  waitFor(step: Step): Promise<boolean>;
  leaveTurn(turn: string): void;
  /** Resolves to false when the operation stops before there is a place in flight. */
  takePlace(step: Step): Promise<boolean>;
  givePlaceBack(step: Step): void;
  /** Resolves when a command of this size, in characters, may be given. */
  spend(size: number): Promise<void>;
  stepDone(step: Step): void;
  /** Tasks that the plan did not hold. */
  addTasks(count: number): void;
  stepFailed(step: Step, failure: FailureRecord): void;
  nextIncarnation(): number;
  /**
   * Machines to try before it gives up: three, and each placement once, unless given. What the last one left
   * is not cleaned up.
   */
  readonly launches?: number;
  /** Plugins as they were when the work was planned. */
  readonly plugins?: PluginPins;
  /** Where the node's machine may come from, in order of preference. */
  readonly placements: readonly PlannedPlacement[];
  service(name: string): ServiceSpec | undefined;
  /** What every task of the owner's nodes carries. */
  taskBase(): Pick<
    TaskRequest,
    'clusterId' | 'clusterUid' | 'cluster' | 'peersOf' | 'peersVersion' | 'command'
  >;
  now(): string;
}

export type ChainEnd = 'done' | 'failed' | 'stopped';

const launches = 3;
const permanentKinds = ['Auth', 'UnknownOutcome', 'Internal', 'PluginChanged'];

/** Carries one node through its chain, one task after the other. Knows nothing of clusters. */
export async function runNode(owner: NodeOwner, chain: readonly Step[]): Promise<ChainEnd> {
  try {
    return await runSteps(owner, chain);
  } catch (error) {
    // A node that is cancelled between two tasks must not end the waiting for the tasks of others.
    if (isCancellation(error)) return stopped(owner);
    throw error;
  }
}

async function runSteps(owner: NodeOwner, chain: readonly Step[]): Promise<ChainEnd> {
  for (let index = owner.position(); index < chain.length;) {
    const step = chain[index];
    if (step === undefined) break;
    if (!(await owner.waitFor(step))) return stopped(owner);
    const end = await carryOut(owner, chain, step);
    if (end !== 'done') return end;
    // A CREATE brings the CONFIRM after it along.
    index += step.action === 'CREATE' && chain[index + 1]?.action === 'CONFIRM' ? 2 : 1;
    owner.passed(index);
    if (step.turn !== undefined && chain[index]?.turn !== step.turn) owner.leaveTurn(step.turn);
  }
  owner.change(({ current: _current, ...node }) => node);
  return 'done';
}

async function carryOut(owner: NodeOwner, chain: readonly Step[], step: Step): Promise<ChainEnd> {
  if (step.action === 'CREATE') return obtainMachine(owner, chain);
  if (step.action !== 'CONFIRM') return runStep(owner, step);
  // A machine that was in service is looked at again and never thrown away for not answering.
  if (owner.node().facts.CONFIRM !== true) return obtainMachine(owner, chain);
  const { ipaddress: before } = owner.node().payload;
  const end = await runStep(owner, step);
  if (end === 'done' && owner.node().payload['ipaddress'] !== before) owner.announce();
  return end;
}

/**
 * CREATE and CONFIRM. A machine that cannot be had, or never answers, is deleted and asked for anew,
 * elsewhere where the spec says so.
 */
async function obtainMachine(owner: NodeOwner, chain: readonly Step[]): Promise<ChainEnd> {
  const create = chain.find((step) => step.action === 'CREATE') ?? { action: 'CREATE' };
  const confirm = chain.find((step) => step.action === 'CONFIRM') ?? { action: 'CONFIRM' };
  const limit = owner.launches ?? Math.max(launches, owner.placements.length);
  for (let launch = 1; ; launch += 1) {
    if (owner.node().facts.machine === undefined) choosePlacement(owner, launch);
    const end = await createAndConfirm(owner, create, confirm);
    if (end !== 'failed') return end;
    const kind = owner.node().failure?.kind ?? 'Internal';
    // A machine of an earlier life that cannot be taken over is replaced, whatever the reason.
    const legacy = owner.node().adopt === true;
    if (
      !legacy &&
      (launch === limit ||
        permanentKinds.includes(kind) ||
        (kind === 'Invalid' && owner.node().facts.CREATE === undefined))
    )
      return 'failed';
    owner.change(({ failure: _failure, ...node }) => node);
    if (kind === 'Capacity' || kind === 'Quota') {
      // Refused before anything was made: there is nothing to clean up.
      owner.change((node) => ({ ...node, facts: { services: {} } }));
    } else {
      // The DELETE, and the CREATE that is done once more.
      owner.addTasks(owner.node().facts.CREATE === true ? 2 : 1);
      const cleaned = await runStep(owner, { action: 'DELETE' });
      if (cleaned !== 'done') return cleaned;
    }
    await sleep(1_000 * launch);
  }
}

async function createAndConfirm(owner: NodeOwner, create: Step, confirm: Step): Promise<ChainEnd> {
  if (owner.node().facts.CREATE === undefined) {
    const end = await runStep(owner, create);
    if (end !== 'done') return end;
  }
  const end = await runStep(owner, confirm);
  if (end === 'done') owner.announce();
  return end;
}

function choosePlacement(owner: NodeOwner, launch: number): void {
  const planned = owner.placements[(launch - 1) % owner.placements.length];
  if (planned === undefined) throw new Error(`no placement for ${owner.node().nodeId}`);
  const incarnation = owner.nextIncarnation();
  owner.change((node) => recordMachine(node, planned, incarnation));
}

async function runStep(owner: NodeOwner, step: Step): Promise<ChainEnd> {
  const attempts = actionSpec(owner, step)?.attempts ?? 1;
  const key = `${step.service ?? '-'}/${step.action}`;
  const firstRun = owner.node().runs[key] ?? 1;
  for (let run = firstRun; ; run += 1) {
    note(owner, step, 'queued');
    if (!(await owner.takePlace(step))) return stopped(owner);
    note(owner, step, 'running');
    owner.change((node) => ({ ...recordBegun(node, step), runs: { ...node.runs, [key]: run } }));
    const request = requestFor(owner, step, run);
    try {
      const outcome = await attempt(owner, step, request);
      finish(owner, step, outcome.result ?? {}, request.peersVersion);
      return 'done';
    } catch (error) {
      if (isCancellation(error)) return stopped(owner);
      const failure = readTaskFailure(error, { ...step, taskId: request.taskId }, owner.now());
      owner.change((node) => ({
        ...node,
        payload: mergePayload(node.payload, machinePartOf(failure.result)),
      }));
      // Only a run that is known to have ended may be followed by another; any other failure attaches to the
      // same run.
      if (failure.record.kind === 'ScriptFailed') {
        owner.change((node) => ({ ...node, runs: { ...node.runs, [key]: run + 1 } }));
        if (run - firstRun + 1 < attempts && !isPermanent(owner, step, failure.record)) {
          await backOff(owner, step, run - firstRun);
          continue;
        }
      }
      return giveUp(owner, step, failure.record, request.peersVersion);
    }
  }
}

async function attempt(owner: NodeOwner, step: Step, request: TaskRequest): Promise<TaskOutcome> {
  const { placement } = owner.node();
  if (placement === undefined) throw new Error(`${owner.node().nodeId} has no placement`);
  try {
    await owner.spend(JSON.stringify(request).length);
    return await scheduleTask(step.action, request, placement, step.mayFail);
  } finally {
    owner.givePlaceBack(step);
  }
}

function finish(owner: NodeOwner, step: Step, result: JsonObject, peers: number): void {
  owner.change((node) => recordDone(node, step, result, { operation: owner.operation, peers }));
  const { action, service } = step;
  // START is done when the check has passed.
  if (action === 'START' && service !== undefined && owner.service(service)?.check !== undefined) {
    owner.change((node) => recordHealth(node, service, { well: true, at: owner.now() }));
  }
  owner.stepDone(step);
}

function giveUp(owner: NodeOwner, step: Step, failure: FailureRecord, peers: number): ChainEnd {
  owner.stepFailed(step, failure);
  if (step.mayFail === true) {
    finish(owner, step, {}, peers);
    return 'done';
  }
  owner.change(({ current: _current, ...node }) => ({ ...node, failure }));
  return 'failed';
}

const longestBackOffMs = 10 * 60_000;

/** Doubles from run to run. */
async function backOff(owner: NodeOwner, step: Step, again: number): Promise<void> {
  const { backoffMs = 0 } = actionSpec(owner, step) ?? {};
  if (backoffMs > 0) await sleep(Math.min(backoffMs * 2 ** again, longestBackOffMs));
}

function isPermanent(owner: NodeOwner, step: Step, failure: FailureRecord): boolean {
  return (
    failure.exitCode !== undefined &&
    actionSpec(owner, step)?.permanentExitCodes?.includes(failure.exitCode) === true
  );
}

function stopped(owner: NodeOwner): ChainEnd {
  owner.change(({ current: _current, ...node }) => node);
  return 'stopped';
}

function note(owner: NodeOwner, step: Step, state: CurrentTask['state']): void {
  const { action, service } = step;
  const current: CurrentTask = { action, service, state, since: owner.now() };
  owner.change((node) => ({ ...node, current }));
}
