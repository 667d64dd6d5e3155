import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  log,
  patched,
  setCurrentDetails,
  sleep,
  upsertMemo,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { poolWorkflowId } from '../../model/names.js';
import { admit } from '../../model/pool/admit.js';
import { mostCarried, packPool, unpackPool, type CarriedPool } from '../../model/pool/carry.js';
import { carryOutDue, nextDue } from '../../model/pool/due.js';
import { deleteNode } from '../../model/pool/hand-out.js';
import type { PoolStart } from '../../model/pool/messages.js';
import { newPool, type PoolState } from '../../model/pool/state.js';
import { leaveNoTaskEmpty } from '../no-empty-task.js';
import { createCommandBudget, createPlaces } from '../cluster/places.js';
import { detailsOfPool } from './details.js';
import { handleMessages } from './handlers.js';
import { beginLooks } from './looks.js';
import { noteChange, type PoolMemory } from './memory.js';
import { nothingTold, tellFigures } from './metrics.js';
import { createCarrier } from './together.js';
import { nextWatch, watchImages } from './watch.js';
import { isWorn, wearRound } from './wear.js';
import { beginWork } from './work.js';

export type PoolInput = PoolStart | { readonly carried: CarriedPool };

/**
 * Tasks in flight at once, and machines that are waited for at once. Far below what the server allows a
 * workflow: what ends together is taken up in one workflow task, which must not take seconds on a busy
 * worker.
 */
const inFlight = 60;
const lookedAt = 300;

/** A pool of nodes. It lives as long as the pool, and only deletePool ends it. */
export async function pool(input?: PoolInput): Promise<string> {
  const cancelled = CancellationScope.current().cancelRequested;
  // Ending the workflow would leave its machines behind, so a cancellation from outside only has it go on in
  // a new run.
  return CancellationScope.nonCancellable(() => live(input, cancelled));
}

async function live(input: PoolInput | undefined, cancelled: Promise<never>): Promise<string> {
  const state = openState(input);
  const isNewer = patched('20261122-pool-faults');
  if (isNewer) delete state.takesOthers;
  else state.takesOthers = true;
  const batches = patched('20261122-pool-batches');
  leaveNoTaskEmpty();
  const memory: PoolMemory = {
    pool: state,
    told: nothingTold(state),
    dirty: true,
    work: {},
    places: createPlaces(inFlight),
    looks: createPlaces(lookedAt),
    budget: createCommandBudget(),
    ...(batches ? { batches } : { batches, carrier: createCarrier() }),
    alone: {},
    replayMs: 0,
    draining: false,
    updates: 0,
    looking: {},
    watched: {},
  };
  handleMessages(memory);
  cancelled.catch(() => {
    memory.renew = true;
  });
  if (!isCarried(input)) {
    upsertMemo({ heddleUid: memory.pool.uid });
    // A first message that was refused leaves a pool nobody asked for.
    await condition(
      () =>
        memory.pool.spec !== undefined ||
        memory.pool.leaving !== undefined ||
        (isNewer && memory.refused === true),
      '2 minutes',
    );
    await condition(allHandlersFinished);
    if (memory.pool.spec === undefined) return 'nothing was asked of this pool';
  }
  for (;;) {
    if (memory.dirty) carryOut(memory);
    if (isOver(memory)) return `pool ${memory.pool.name} was deleted`;
    if (isWorn(memory) && mayCarry(memory)) {
      await drain(memory);
      return continueAsNew<typeof pool>({ carried: packPool(memory.pool) });
    }
    await condition(() => memory.dirty || isWorn(memory) || isOver(memory));
  }
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

/** One round of everything: what the clock asks for, who gets what, and the work that comes of it. */
function carryOut(memory: PoolMemory): void {
  const { pool: state } = memory;
  const now = Date.now();
  memory.dirty = false;
  wearRound(memory);
  carryOutDue(state, now);
  admit(state, now);
  const isAllBegun = beginWork(memory, now);
  beginLooks(memory, now);
  watchImages(memory, now);
  tellFigures(memory.told, state, now);
  setAlarm(memory, isAllBegun ? soonest(nextDue(state, now), nextWatch(memory)) : now, now);
  if (Object.keys(memory.work).length === 0) setCurrentDetails(detailsOfPool(state));
}

function soonest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** One timer at a time, and a later one is left to the earlier: each costs events. */
function setAlarm(memory: PoolMemory, at: number | undefined, now: number): void {
  if (at === undefined || (memory.alarm !== undefined && memory.alarm.at <= at)) return;
  memory.alarm?.scope.cancel();
  const scope = new CancellationScope({ cancellable: true });
  const alarm = { at, scope };
  memory.alarm = alarm;
  scope
    .run(() => sleep(Math.max(1, at - now)))
    .then(
      () => {
        if (memory.alarm === alarm) delete memory.alarm;
        noteChange(memory);
      },
      (error: unknown) => {
        if (!isCancellation(error)) throw error;
      },
    );
}

function isOver({ pool: { leaving, nodes }, work }: PoolMemory): boolean {
  return (
    leaving !== undefined &&
    Object.keys(nodes).length === 0 &&
    Object.keys(work).length === 0 &&
    allHandlersFinished()
  );
}

/** A pool that is too large for one message goes on in this run for a while: nodes come and go. */
function mayCarry(memory: PoolMemory): boolean {
  const size = JSON.stringify(packPool(memory.pool)).length;
  if (size <= mostCarried) return true;
  log.warn('the pool is too large to go on in a new run; give nodes back, or spread it over several pools', {
    size,
    limit: mostCarried,
  });
  memory.carryAt = Date.now() + 30_000;
  setAlarm(memory, memory.carryAt, Date.now());
  return false;
}

/**
 * Starts nothing more, lets what makes machines come to its end, and cancels what only waits or can be done
 * again.
 */
async function drain(memory: PoolMemory): Promise<void> {
  const { pool: state, work, places, looks, looking } = memory;
  memory.draining = true;
  places.close();
  looks.close();
  const isCreating = (id: string): boolean => {
    const { current } = state.nodes[id]?.machine ?? {};
    return current?.action === 'CREATE' && current.state === 'running';
  };
  for (const [id, { cancel, together }] of Object.entries(work))
    if (together !== true && !isCreating(id)) cancel();
  const isIdle = (): boolean => Object.keys(work).length === 0;
  // A provider that is silent for long does not keep the pool from going on.
  if (!(await condition(isIdle, '10 seconds'))) await cutShort(memory);
  memory.alarm?.scope.cancel();
  await condition(() => isIdle() && Object.keys(looking).length === 0 && allHandlersFinished());
}

/**
 * Nobody knows what came of a CREATE that was cut. Its node gives way to another one, and is deleted by its
 * key.
 */
async function cutShort({ pool: state, work }: PoolMemory): Promise<void> {
  const cut = Object.keys(work);
  for (const { cancel } of Object.values(work)) cancel();
  await condition(() => Object.keys(work).length === 0);
  for (const id of cut) {
    const node = state.nodes[id];
    if (node?.state === 'building' && node.machine.facts.CREATE === undefined)
      deleteNode(state, id, 'its making was cut short', Date.now());
  }
}
