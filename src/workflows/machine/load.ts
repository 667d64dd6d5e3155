import { CancellationScope, CancelledFailure, isCancellation } from '@temporalio/workflow';
import { formatImageRef, isSameImage, type ImageRef } from '../../model/machine/image.js';
import type { OperationResult } from '../../model/machine/messages.js';
import type { MachineStateName } from '../../model/machine/transitions.js';
import { planLoad, stepsOfLoad, stepsOfSecondWrite, type ProcedureStep } from '../../model/machine/steps.js';
import { endAccess, settleAccess } from './access.js';
import { mustErase, recordErased } from './erase.js';
import { NotDone, refuse, toNotDone } from './failure.js';
import { change, now } from '../entity.js';
import { judgeDisk, judgeImage, judgeRecord } from './judge-load.js';
import { happen, note, type MachineMemory } from './memory.js';
import { accessOf, can, runAction, runStep, stepsFor, undoMs } from './run-step.js';
import { releasePermit, permitsOf } from './permits.js';

export interface LoadOrder {
  readonly image: ImageRef;
  /** Write the image whatever the machine holds, without asking it. */
  readonly force: boolean;
  /** Longest time over all, in ms. */
  readonly withinMs: number;
  /** Only the steps after loading, on a machine that has the image; nothing is written. */
  readonly only?: 'post-load';
  /** Distinguishes several writes of one operation. */
  readonly token: string;
}

interface WriteOrder extends LoadOrder {
  /** The machine is known to be off, or not to answer: its system is not asked for anything. */
  readonly silent?: boolean;
}

/**
 * LOAD: brings an image onto the machine. If the machine has the image already, or its state is unknown, the
 * machine is left alone and the answer says so. From the first written byte until the image is proved, the
 * machine is unusable.
 */
export async function load(memory: MachineMemory, order: LoadOrder): Promise<OperationResult> {
  const { image } = order;
  const { state: before, half, access } = memory.state;
  // A user was in it, and the machine's own word on its image is not enough.
  const force = order.force || access !== undefined || mustErase(memory);
  if (order.only === 'post-load') return postLoadOnly(memory, order);
  const end = Date.now() + order.withinMs;
  const status = force
    ? undefined
    : (
        await runAction(memory, 'NODE_STATUS', { order: { image } }).catch((error: unknown) => {
          throw toNotDone(memory, 'NODE_STATUS', error);
        })
      ).status;
  const plan = status === undefined ? 'everything' : planLoad(status.status);
  if (plan === 'unknown') {
    refuse(
      memory,
      'NODE_STATUS',
      'unknown',
      `it is unknown whether ${memory.state.name} has ${formatImageRef(image)}, so nothing was done: ${status?.why}; ${status?.evidence.notes.join('; ')}. ` +
        'Repair what does not answer and try again, or load with --force',
    );
  }
  const seen = status === undefined ? {} : { status };
  if (plan === 'nothing') {
    recordLoaded(memory, image);
    return { ...seen, image, did: plan };
  }
  happen(memory, 'begin load');
  try {
    if (plan === 'post-load' && (await postLoad(memory, order, end)))
      return done(memory, { ...seen, image, did: 'post-load' });
    await write(
      memory,
      { ...order, silent: half !== undefined || (status !== undefined && status.ssh !== 1) },
      end,
    );
    return done(memory, { ...seen, image, did: 'everything' });
  } catch (error) {
    await CancellationScope.nonCancellable(() => leave(memory, before, error, end));
    throw error;
  }
}

/**
 * The steps after loading, on request. If they fail or are cut off, the machine has its image
 * and is not ready: it is failed, and says so, until they or a load succeed.
 */
async function postLoadOnly(memory: MachineMemory, order: LoadOrder): Promise<OperationResult> {
  const { image } = order;
  const { name, half, access, state: before } = memory.state;
  const end = Date.now() + order.withinMs;
  if (half !== undefined || access !== undefined || mustErase(memory))
    refuse(memory, 'POST_LOAD', 'not done', `${name} needs a load: its disk may differ from its image`);
  const { status } = await runAction(memory, 'NODE_STATUS', { order: { image } }).catch((error: unknown) => {
    throw toNotDone(memory, 'NODE_STATUS', error);
  });
  if (status === undefined || status.status === 'UNKNOWN' || status.status === 'RELOAD')
    refuse(
      memory,
      'NODE_STATUS',
      status?.status === 'RELOAD' ? 'not done' : 'unknown',
      `the steps after loading need a machine that has ${formatImageRef(image)}: ${status?.why}`,
    );
  happen(memory, 'begin load');
  try {
    await runSteps(memory, order, stepsFor(memory, stepsOfLoad('post-load')), end);
    return done(memory, { status, image, did: 'post-load' });
  } catch (error) {
    const cancelled = isCancellation(error);
    if (cancelled && memory.postLoadBegun !== true)
      happen(memory, 'load left out', 'it was cancelled', before);
    else {
      const why = cancelled ? 'were cancelled' : `failed: ${toNotDone(memory, 'POST_LOAD', error).message}`;
      happen(
        memory,
        'load failed',
        `it has ${formatImageRef(image)}, and the steps after loading ${why}; 'heddle machine load ${name} ${formatImageRef(image)} --only post-load' repeats them`,
      );
    }
    throw error;
  }
}

/**
 * Only the steps after loading. False when the system itself says that it cannot: then the whole image is
 * written.
 */
async function postLoad(memory: MachineMemory, order: LoadOrder, end: number): Promise<boolean> {
  try {
    await runSteps(memory, order, stepsFor(memory, stepsOfLoad('post-load')), end);
    return true;
  } catch (error) {
    const why = toNotDone(memory, 'POST_LOAD', error);
    if (why.answer === 'unknown') throw why;
    note(memory, `the steps after loading failed, so the image is written again: ${why.message}`);
    return false;
  }
}

async function write(memory: MachineMemory, order: WriteOrder, end: number): Promise<void> {
  const steps = stepsFor(memory, stepsOfLoad('everything'));
  try {
    await runSteps(memory, order, steps, end);
  } finally {
    await releasePermit(memory);
  }
}

async function runSteps(
  memory: MachineMemory,
  order: WriteOrder,
  steps: readonly ProcedureStep[],
  end: number,
): Promise<void> {
  let isHere = false;
  let isUntouched = false;
  let isMarked = false;
  let isSecond = false;
  // Until the write has begun, a failure is undone within the same time.
  let isUndoable = steps.some(({ breaks }) => breaks === true);
  // What it has is not known, so it may be the system that the last load should have overwritten.
  const wasHalf = memory.state.half !== undefined;
  const queue = [...steps];
  for (let step = queue.shift(); step !== undefined; step = queue.shift()) {
    if (step.action === 'RETRIEVE_IMAGE' && isHere) continue;
    const answers = order.silent !== true || (step.action === 'MARK_DISK' && (wasHalf || isSecond));
    if (step.mayFail === true && !answers) continue;
    if (step.action === 'REVOKE_ACCESS' && memory.state.access === undefined) continue;
    if (step.action === 'CHECK_MARK' && isUntouched) continue;
    stopIfCancelled();
    const { half: halfBefore } = memory.state;
    const deadline = isUndoable ? end - reservedMs(order) : end;
    const leftMs = deadline - Date.now();
    if (step.breaks === true) isUndoable = false;
    if (leftMs <= 0)
      refuse(
        memory,
        step.action,
        'unknown',
        `the load did not end within its ${order.withinMs / 1_000} s; its next step was: ${step.step}`,
      );
    if (step.breaks === true) change(memory, { half: order.image, unconfirmed: undefined });
    const { image } = order;
    // A provider does nothing for the token of a write that it has done.
    const token = isSecond ? `${order.token}/again` : order.token;
    try {
      const about = {
        image,
        token,
        boot: 'image',
        fresh: true,
        slots: permitsOf(memory),
        ...accessOf(memory, step),
      } as const;
      const outcome = await runStep(memory, steps, step, { leftMs, order: about });
      if (step.action === 'IMAGE_EXISTS') isHere = judgeImage(memory, order, outcome);
      if (step.action === 'MARK_DISK') isMarked = true;
      if (step.action === 'LOAD') isUntouched = outcome.untouched === true;
      if (step.action === 'REVOKE_ACCESS' && step.mayFail === true) settleAccess(memory, outcome);
      else if (step.action === 'REVOKE_ACCESS') endAccess(memory, outcome, isUntouched);
      if (step.action === 'ERASE') recordErased(memory, outcome);
      if (step.action === 'CHECK_MARK') {
        judgeDisk(memory, order, outcome);
        if (!isMarked) {
          isSecond = true;
          queue.unshift(...stepsOfSecondWrite(steps));
          note(memory, notMarked);
        }
      }
      if (step.action === 'GET_CURRENT_IMAGE') judgeRecord(memory, order, outcome, isUntouched);
    } catch (error) {
      const why = toNotDone(memory, step.action, error);
      // The provider promises that the disk is unchanged then.
      if (step.breaks === true && why.answer === 'not done') restoreHalf(memory, halfBefore);
      if (step.mayFail !== true || isSecond) throw Date.now() < deadline ? why : lateIn(step, order, why);
      note(memory, `${step.step}: ${why.message}`);
    }
  }
}

const notMarked =
  'its old system could not be marked, so the image is written a second time: only a mark that is gone proves that the disk was written';

/** The part of a load's time that its undo gets: setting the boot device, and switching on. */
function reservedMs({ withinMs }: LoadOrder): number {
  return Math.min(withinMs / 4, 120_000);
}

/** The task knows its own time limit alone. */
function lateIn({ step }: ProcedureStep, { withinMs }: LoadOrder, { answer, failure }: NotDone): NotDone {
  const message = `the load did not end within its ${withinMs / 1_000} s, at the step ${step}: ${failure.message}`;
  return new NotDone(answer, { ...failure, message });
}

/** A task that ended well all the same was waited for; nothing more is begun, least of all a write. */
export function stopIfCancelled(): void {
  if (CancellationScope.current().consideredCancelled)
    throw new CancelledFailure('the operation was cancelled');
}

/** The disk is as it was before the step, which may be half an image of an earlier load. */
function restoreHalf(memory: MachineMemory, before: ImageRef | undefined): void {
  change(memory, { half: before });
}

function done(memory: MachineMemory, result: OperationResult): OperationResult {
  happen(memory, 'load done');
  if (result.image !== undefined) recordLoaded(memory, result.image);
  return result;
}

function recordLoaded(memory: MachineMemory, image: ImageRef): void {
  const { half, user, why, state, image: before } = memory.state;
  change(memory, {
    half: undefined,
    keepsOff: undefined,
    unerased: undefined,
    image:
      half === undefined && before !== undefined && isSameImage(image, before)
        ? before
        : { ...image, since: now() },
    user: state === 'available' ? undefined : user,
    // The reason for maintenance stays; the reason of an earlier failed load does not.
    why: state === 'maintenance' ? why : undefined,
  });
}

/**
 * Ends an incomplete load: with a partial image on the disk the machine has failed, otherwise it is as
 * before.
 */
async function leave(
  memory: MachineMemory,
  before: MachineStateName,
  error: unknown,
  end: number,
): Promise<void> {
  const why = error instanceof Error && !isCancellation(error) ? error.message : 'the load was cancelled';
  if (memory.state.half !== undefined) {
    change(memory, { image: undefined });
    happen(memory, 'load failed', `it is not proved that its disk has the complete image: ${why}`);
    return;
  }
  await backOn(memory, end);
  happen(memory, 'load left out', why, before);
}

/** The machine may be switched off; its disk is unchanged. */
export async function backOn(memory: MachineMemory, end: number): Promise<void> {
  if (memory.offByUs !== true) return;
  const leftMs = (): number => undoMs(end - Date.now());
  try {
    if (memory.bootByUs === true)
      await runAction(memory, 'SET_BOOT', { order: { boot: 'disk' }, leftMs: leftMs() });
    if (can(memory, 'POWER_ON')) await runAction(memory, 'POWER_ON', { leftMs: leftMs() });
  } catch (error) {
    if (isCancellation(error)) throw error;
    note(memory, `it could not be switched on again: ${toNotDone(memory, 'POWER_ON', error).message}`);
  }
}
