import { bounds } from '../../model/bounds.js';
import { ApplicationFailure, uuid4, workflowInfo } from '@temporalio/workflow';
import { poolWorkflowId } from '../../model/names.js';
import { admit } from '../../model/pool/admit.js';
import { packPool, unpackPool, type CarriedPool } from '../../model/pool/carry.js';
import { carryOutDue, nextDue } from '../../model/pool/due.js';
import { unknownOutcome } from '../../model/node/failure.js';
import { deleteNode } from '../../model/pool/allocate.js';
import type { PoolStart } from '../../model/pool/messages.js';
import { newPool, type PoolState } from '../../model/pool/state.js';
import { createSemaphore } from '../permits.js';
import { detailsOfPool } from './details.js';
import { newMemory, runEntity, showOrigins, type NextStep } from '../entity.js';
import { messagesOf } from './handlers.js';
import { beginChecks } from './periodic-checks.js';
import type { PoolMemory } from './memory.js';
import { beginProbes } from './probes.js';
import { nothingPublished, publishMetrics } from './metrics.js';
import { nextWatch, watchImages } from './watch-images.js';
import { isReplayTooLong, nextTaskTimeoutMs } from './replay-budget.js';
import { endBuild, hasUnknownMachine } from './results.js';
import { beginWork } from './work.js';
import { condition } from '../inbox.js';

type PoolInput = PoolStart | { readonly carried: CarriedPool };

/**
 * Tasks in flight at once, and machines that are waited for at once. Far below what the server allows a
 * workflow: what ends at the same time is handled in one workflow task, which must not take seconds on a busy
 * worker.
 */
const inFlight = 60;
const checkedAt = 300;

/** A pool of nodes. It lives until its deletion is requested and its last node is gone. */
export async function pool(input?: PoolInput): Promise<string> {
  const state = openState(input);
  const memory: PoolMemory = {
    ...newMemory(),
    pool: state,
    published: nothingPublished(state),
    work: {},
    permits: createSemaphore(inFlight),
    removals: {},
    checks: createSemaphore(checkedAt),
    alone: {},
    replayMs: 0,
    entries: Object.keys(state.nodes).length + Object.keys(state.requests).length,
    checking: {},
    watched: {},
  };
  showOrigins(state);
  return runEntity(memory, {
    uid: state.uid,
    messages: messagesOf(memory),
    first: isCarried(input)
      ? undefined
      : {
          isAccepted: () => state.spec !== undefined,
          isRefused: () => state.leaving !== undefined || memory.refused === true,
          withinMs: 120_000,
          otherwise: 'this pool received no request',
        },
    step: () => stepPool(memory),
    isBusy: () => Object.keys(memory.work).length > 0,
    budget: { busyEvents: 12_000, isExceeded: () => isReplayTooLong(memory) },
    drain: () => drain(memory),
    nextTaskTimeoutMs: () => nextTaskTimeoutMs(state),
    carry: () => packPool(state),
    bounds: bounds.pool,
    details: () => detailsOfPool(state),
  });
}

function isCarried(input: PoolInput | undefined): input is { readonly carried: CarriedPool } {
  return input !== undefined && 'carried' in input;
}

function openState(input: PoolInput | undefined): PoolState {
  if (isCarried(input)) return unpackPool(input.carried);
  const { workflowId } = workflowInfo();
  const name = workflowId.replace(/^pool\//, '');
  if (workflowId !== poolWorkflowId(name))
    throw ApplicationFailure.nonRetryable(
      `a pool's workflow id is pool/<name>, not "${workflowId}"`,
      'Invalid',
    );
  return newPool(name, input?.heddle.uid ?? uuid4());
}

/** Does what the clock calls for, allocates nodes to requests, and begins the work that follows. */
function stepPool(memory: PoolMemory): NextStep {
  const { pool: state } = memory;
  const now = Date.now();
  if (state.exported !== undefined) return pauseExported(memory, now);
  carryOutDue(state, now);
  admit(state, now);
  const isAllBegun = beginWork(memory, now);
  beginProbes(memory, now);
  beginChecks(memory, now);
  watchImages(memory, now);
  publishMetrics(memory.published, state, now);
  if (isOver(memory)) return { ended: `pool ${state.name} was deleted` };
  const due = soonest(nextDue(state, now), nextWatch(memory));
  return { wakeAt: isAllBegun ? due : now };
}

/**
 * An exported pool does nothing. A CREATE comes to its end, so that the records say what became
 * of its machine, and so do batches. Other tasks are cancelled, and the export waits for their
 * attempts in flight: the restored pool begins them again.
 */
function pauseExported(memory: PoolMemory, now: number): NextStep {
  cancelWork(memory);
  publishMetrics(memory.published, memory.pool, now);
  return {};
}

function soonest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function isOver({ pool: { leaving, nodes }, work }: PoolMemory): boolean {
  return leaving !== undefined && Object.keys(nodes).length === 0 && Object.keys(work).length === 0;
}

/**
 * Starts nothing more, lets what makes machines come to its end, and cancels what only waits or can be done
 * again.
 */
async function drain(memory: PoolMemory): Promise<boolean> {
  const { work, permits, removals, checks, checking } = memory;
  for (const semaphore of [permits, checks, ...Object.values(removals)]) semaphore.close();
  cancelWork(memory);
  const isIdle = (): boolean => Object.keys(work).length === 0;
  // A provider that is silent for long does not keep the pool from going on.
  if (!(await condition(isIdle, '10 seconds'))) await cutShort(memory);
  await condition(() => isIdle() && Object.keys(checking).length === 0);
  return true;
}

/** Cancels what only waits, or can be done again. */
function cancelWork({ pool: state, work }: PoolMemory): void {
  const isCreating = (id: string): boolean => {
    const { current } = state.nodes[id]?.machine ?? {};
    return current?.action === 'CREATE' && current.state === 'running';
  };
  for (const [id, { cancel, inBatch }] of Object.entries(work))
    if (inBatch !== true && !isCreating(id)) cancel();
}

/**
 * The result of a CREATE that was cut is unknown. Another node replaces it if it can be deleted by its key.
 */
async function cutShort({ pool: state, work }: PoolMemory): Promise<void> {
  const cut = Object.keys(work);
  for (const { cancel } of Object.values(work)) cancel();
  await condition(() => Object.keys(work).length === 0);
  for (const id of cut) {
    const node = state.nodes[id];
    if (node?.state !== 'building' || node.machine.facts.CREATE !== undefined) continue;
    const message = 'its creation was interrupted';
    if (hasUnknownMachine(state, node)) endBuild(state, id, { kind: unknownOutcome, message });
    else deleteNode(state, id, message, Date.now());
  }
}
