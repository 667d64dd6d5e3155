import { milliseconds } from '../model/milliseconds.js';
import { type CarriedNode, actionSpec, requestFor } from './task-request.js';
import { isCancellation, sleep } from '@temporalio/workflow';
import { unknownOutcome, type EngineKind, type FailureRecord } from '../model/node/failure.js';
import type { Json, JsonObject } from '../model/json.js';
import { taskTitle } from '../model/names.js';
import { leanFailure } from '../model/node/room.js';
import type { TaskRequest } from '../model/node/task-request.js';
import { attemptsUsed, endedRun, nextRun, repeatedRun, runKey } from '../model/node/run.js';
import type { CurrentTask, NodeState } from '../model/node/state.js';
import { mergePayload } from '../model/node/payload.js';
import { machinePartOf } from '../model/node/result-table.js';
import type { Step } from '../model/plan/plan.js';
import {
  recordBegun,
  recordNothingMade,
  recordChecked,
  type Occasion,
  recordDone,
  recordHealth,
  recordMachine,
  recordObservation,
} from '../model/node/record.js';
import { now } from './entity.js';
import { countFailure } from './metrics.js';
import { scheduleTask } from './schedule.js';
import { readTaskFailure } from './task-failure.js';
import { beginCreate, type CreateCalls } from './unsent-create.js';

/** What a workflow of several nodes adds to the chain of one. */
export interface NodeHooks {
  /** Resolves when the step's gates are open and its batch slot is free; to false if the operation stops. */
  beginStep(step: Step): Promise<boolean>;
  /** Frees a batch slot. */
  leave(slot: string): void;
  /** Resolves to the release of a permit for one task in flight; to undefined if the operation stops. */
  acquire(step: Step): Promise<(() => void) | undefined>;
  /** Why a step is not carried out although it was planned; undefined if it is. */
  refusal(step: Step): string | undefined;
  /** Why the workflow cannot keep this payload of the node; undefined if it can. */
  lacksRoom(payload: JsonObject): string | undefined;
  /** The node has these steps of the chain behind it. */
  passed(position: number): void;
  stepDone(step: Step): void;
  stepFailed(step: Step, failure: FailureRecord): void;
  /** The chain needs tasks that the plan did not contain. */
  tasksAdded(count: number): void;
  /** The node's address or membership changed. */
  announced(): void;
  /** Something else that peers see of the node changed. */
  published(): void;
}

const nothing = (): void => undefined;
const defaultHooks: NodeHooks = {
  beginStep: () => Promise.resolve(true),
  leave: nothing,
  acquire: () => Promise.resolve(nothing),
  refusal: () => undefined,
  lacksRoom: () => undefined,
  passed: nothing,
  stepDone: nothing,
  stepFailed: nothing,
  tasksAdded: nothing,
  announced: nothing,
  published: nothing,
};

export type ChainEnd = 'done' | 'failed' | 'stopped';

type Owner = CarriedNode & NodeHooks;

const launches = 3;
const permanentKinds = [
  'Auth',
  unknownOutcome,
  'Internal' satisfies EngineKind,
  'PluginChanged' satisfies EngineKind,
];

/** Runs the chain of one node, one task after the other. */
export async function runNode(
  node: CarriedNode,
  chain: readonly Step[],
  hooks: Partial<NodeHooks> = {},
): Promise<ChainEnd> {
  const owner: Owner = { ...defaultHooks, ...hooks, ...node };
  try {
    return await runSteps(owner, chain);
  } catch (error) {
    // A node that is cancelled between two tasks must not end the waiting for the tasks of others.
    if (isCancellation(error)) return stopped(owner);
    throw error;
  }
}

async function runSteps(owner: Owner, chain: readonly Step[]): Promise<ChainEnd> {
  for (let index = owner.position ?? 0; index < chain.length;) {
    const step = chain[index];
    if (step === undefined) break;
    if (!(await owner.beginStep(step))) return stopped(owner);
    const end = await executeStep(owner, chain, step);
    if (end !== 'done') return end;
    // CREATE includes the CONFIRM after it.
    index += step.action === 'CREATE' && chain[index + 1]?.action === 'CONFIRM' ? 2 : 1;
    owner.passed(index);
    if (step.batchSlot !== undefined && chain[index]?.batchSlot !== step.batchSlot)
      owner.leave(step.batchSlot);
  }
  owner.change(({ current: _current, ...node }) => node);
  return 'done';
}

async function executeStep(owner: Owner, chain: readonly Step[], step: Step): Promise<ChainEnd> {
  if (step.action !== 'CREATE' && step.action !== 'CONFIRM') return runStep(owner, step);
  takeOverTimes(owner);
  if (step.action === 'CREATE') return obtainMachine(owner, chain);
  // A machine that was in service is probed again and never discarded for not answering.
  if (owner.state().facts.CONFIRM !== true) return obtainMachine(owner, chain);
  const { ipaddress: before } = owner.state().payload;
  const end = await runStep(owner, step);
  if (end === 'done' && owner.state().payload['ipaddress'] !== before) owner.announced();
  return end;
}

/**
 * How long the machine of a node may take is what the plan says, also if an earlier operation
 * chose its placement.
 */
function takeOverTimes(owner: Owner): void {
  const { facts, placement } = owner.state();
  const planned = owner.placements?.find(({ digest }) => digest === facts.machine);
  if (planned === undefined || placement === undefined) return;
  const { launchWithinMs, confirmWithinMs, answerWithinMs } = planned;
  owner.change((node) => ({
    ...node,
    placement: { ...placement, launchWithinMs, confirmWithinMs, answerWithinMs },
  }));
}

/**
 * CREATE and CONFIRM. A machine that cannot be created, or never answers, is deleted and replaced, at an
 * alternative placement if the spec names one.
 */
async function obtainMachine(owner: Owner, chain: readonly Step[]): Promise<ChainEnd> {
  const create = chain.find((step) => step.action === 'CREATE') ?? { action: 'CREATE' };
  const confirm = chain.find((step) => step.action === 'CONFIRM') ?? { action: 'CONFIRM' };
  const { placements = [] } = owner;
  const areExisting = placements.length > 0 && placements.every(({ isExisting }) => isExisting === true);
  const least = areExisting ? 1 : launches;
  const limit = owner.launches ?? Math.max(least, placements.length);
  for (let launch = 1; ; launch += 1) {
    if (owner.state().facts.machine === undefined) choosePlacement(owner, launch);
    const end = await createAndConfirm(owner, create, confirm);
    if (end !== 'failed') return end;
    const kind = owner.state().failure?.kind ?? ('Internal' satisfies EngineKind);
    // A machine of a previous run that cannot be adopted is replaced, whatever the reason.
    const legacy = owner.state().adopt === true;
    if (
      !legacy &&
      (launch === limit ||
        permanentKinds.includes(kind) ||
        (kind === 'Invalid' && owner.state().facts.CREATE === undefined))
    )
      return 'failed';
    owner.change(({ failure: _failure, ...node }) => node);
    if (kind === 'Capacity' || kind === 'Quota') {
      // Refused before anything was made: there is nothing to clean up.
      owner.change((node) => ({ ...node, facts: { services: {} } }));
    } else {
      // The DELETE, and the CREATE that is done once more.
      owner.tasksAdded(owner.state().facts.CREATE === true ? 2 : 1);
      const cleaned = await runStep(owner, { action: 'DELETE' });
      if (cleaned !== 'done') return cleaned;
    }
    await sleep(1_000 * launch);
  }
}

async function createAndConfirm(owner: Owner, create: Step, confirm: Step): Promise<ChainEnd> {
  if (owner.state().facts.CREATE === undefined) {
    const end = await runStep(owner, create);
    if (end !== 'done') return end;
  }
  const end = await runStep(owner, confirm);
  if (end === 'done') owner.announced();
  return end;
}

function choosePlacement(owner: Owner, launch: number): void {
  const { placements = [] } = owner;
  const planned = placements[(launch - 1) % placements.length];
  if (planned === undefined) throw new Error(`no placement for ${owner.state().nodeId}`);
  owner.change((node) => recordMachine(node, planned));
}

async function runStep(owner: Owner, step: Step): Promise<ChainEnd> {
  const refusal = owner.refusal(step);
  if (refusal !== undefined) return refuse(owner, step, refusal);
  const attempts = actionSpec(owner, step)?.attempts ?? 1;
  const key = runKey(step);
  let run = nextRun(owner.state().runs[key], owner.retry);
  let create: CreateCalls | undefined;
  for (;;) {
    note(owner, step, 'queued');
    const release = await owner.acquire(step);
    if (release === undefined) return stopped(owner);
    note(owner, step, 'running');
    // Before the step is recorded as begun: the request says whether an earlier CREATE was.
    const before = owner.state();
    const request = requestFor(owner, step, run);
    owner.change((node) => ({ ...recordBegun(node, step), runs: { ...node.runs, [key]: run } }));
    if (step.action === 'INITIALIZE') owner.published();
    try {
      const { placement } = owner.state();
      if (placement === undefined) throw new Error(`${request.nodeId} has no placement`);
      if (step.action === 'CREATE') create ??= beginCreate(placement);
      const { withinMs = create?.leftMs() } = step;
      const outcome = await scheduleTask(step.action, request, placement, { ...step, withinMs }).finally(
        release,
      );
      if (step.settleMs !== undefined) await sleep(step.settleMs);
      const { result = {}, found } = outcome;
      const full = owner.lacksRoom(mergePayload(owner.state().payload, result));
      if (full !== undefined) return dropResult(owner, step, { request, result, full });
      const madeAt = found === true ? undefined : Date.now();
      finish(owner, step, result, { peers: request.peersVersion, madeAt });
      return 'done';
    } catch (error) {
      if (isCancellation(error)) return stopped(owner);
      const failure = readTaskFailure(error, { ...step, taskId: request.taskId }, now());
      owner.change((node) => ({
        ...(failure.madeNothing ? recordNothingMade(node, before) : node),
        payload: mergePayload(node.payload, machinePartOf(failure.result)),
      }));
      const next = create?.next(failure) ?? failure.record;
      if (typeof next === 'number') {
        note(owner, step, 'queued');
        await sleep(next);
        continue;
      }
      // Only a run that is known to have ended may be followed by another; any other failure attaches to the
      // same run.
      if (failure.record.kind === 'ScriptFailed') {
        const over = endedRun(run);
        owner.change((node) => ({ ...node, runs: { ...node.runs, [key]: over } }));
        const used = attemptsUsed(run);
        if (used < attempts && !isPermanent(owner, step, failure.record)) {
          await backOff(owner, step, used - 1);
          run = repeatedRun(run, owner.retry);
          continue;
        }
      }
      return failStep(owner, step, next, request.peersVersion);
    }
  }
}

/** The step was done, but its result does not fit into what the workflow carries. */
function dropResult(
  owner: Owner,
  { action, service, mayFail }: Step,
  {
    request,
    result,
    full,
  }: { readonly request: TaskRequest; readonly result: JsonObject; readonly full: string },
): ChainEnd {
  const { taskId, peersVersion } = request;
  owner.change((node) => ({ ...node, payload: mergePayload(node.payload, machinePartOf(result)) }));
  const message = `${taskTitle(action, request.nodeId, service)}: ${full}`;
  const failure = { taskId, action, service, kind: 'Invalid', message, at: now() };
  return failStep(owner, { action, service, mayFail }, failure, peersVersion);
}

/** Records a step that ended, and its result, in the node. */
function finish(owner: Owner, step: Step, result: JsonObject, occasion: Omit<Occasion, 'operation'>): void {
  const { action, service } = step;
  // START is done when the check has passed.
  const isHealthy =
    action === 'START' && service !== undefined && owner.service?.(service)?.check !== undefined;
  owner.change((before) => {
    const node = step.repeats === true ? withNextRun(before, step) : before;
    const takesOff = isTakenOffBy(owner, before, step);
    const done = recordDone(node, step, result, { operation: owner.operation, takesOff, ...occasion });
    const checked = step.mayFail === true ? done : recordChecked(done, now());
    return isHealthy ? recordHealth(checked, service, { well: true, at: now() }) : checked;
  });
  owner.stepDone(step);
}

/** Without START and REMOVE, nothing else shows that STOP was done, and it would be done again. */
function isTakenOffBy(owner: Owner, { services }: NodeState, { action, service = '' }: Step): boolean {
  const { start, remove } = owner.service?.(service)?.actions ?? {};
  return action === 'STOP' && !services.includes(service) && start === undefined && remove === undefined;
}

/** The same step later in the operation is another run: it must not attach to this one. */
function withNextRun(node: NodeState, step: Step): NodeState {
  const key = runKey(step);
  const run = node.runs[key];
  return run === undefined ? node : { ...node, runs: { ...node.runs, [key]: endedRun(run) } };
}

/** No process was begun, so not even a tear-down that may fail goes on. */
function refuse(owner: Owner, step: Step, message: string): ChainEnd {
  const { taskId } = requestFor(owner, step, { number: 1 });
  const { action, service } = step;
  return failStep(
    owner,
    { action, service },
    { taskId, action, service, kind: 'Invalid', message, at: now() },
    0,
  );
}

function failStep(owner: Owner, step: Step, failure: FailureRecord, peers: number): ChainEnd {
  owner.stepFailed(step, failure);
  countFailure(failure);
  if (step.mayFail === true) {
    finish(owner, step, {}, { peers });
    return 'done';
  }
  const isFull =
    owner.lacksRoom({ ...owner.state().payload, failure: failure as unknown as Json }) !== undefined;
  owner.change(({ current: _current, ...before }) => {
    const node = failure.lost === undefined ? before : recordObservation(before, failure.lost, failure.at);
    // A command that failed leaves the node as it was, and is not run again by a further plan
    // of its operation.
    if (step.action === 'EXEC') return { ...node, facts: { ...node.facts, EXEC: owner.operation } };
    return { ...node, failure: isFull ? leanFailure(failure) : failure };
  });
  return 'failed';
}

const longestBackOffMs = 10 * 60_000;

/** Doubles from run to run. */
async function backOff(owner: Owner, step: Step, again: number): Promise<void> {
  const { backoff = 0 } = actionSpec(owner, step) ?? {};
  if (backoff > 0) await sleep(Math.min(milliseconds(backoff) * 2 ** again, longestBackOffMs));
}

function isPermanent(owner: Owner, step: Step, failure: FailureRecord): boolean {
  return (
    failure.exitCode !== undefined &&
    actionSpec(owner, step)?.permanentExitCodes?.includes(failure.exitCode) === true
  );
}

function stopped(owner: Owner): ChainEnd {
  owner.change(({ current: _current, ...node }) => node);
  return 'stopped';
}

function note(owner: Owner, step: Step, state: CurrentTask['state']): void {
  const { action, service } = step;
  const current: CurrentTask = { action, service, state, since: now() };
  owner.change((node) => ({ ...node, current }));
}
