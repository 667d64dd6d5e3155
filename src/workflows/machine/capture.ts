import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { formatImageRef, type ImageRef } from '../../model/machine/image.js';
import type { MachineTaskOutcome, OperationResult } from '../../model/machine/messages.js';
import { captureSteps, returnSteps } from '../../model/machine/steps.js';
import type { MachineStateName } from '../../model/machine/transitions.js';
import { clearAccess, settleAccess } from './access.js';
import { erase } from './erase.js';
import { NotDone, refuse, toNotDone } from './failure.js';
import { backOn, load, stopIfCancelled } from './load.js';
import { changeOperation, happen, note, type MachineMemory } from './memory.js';
import { accessOf, can, runAction, runStep, stepsFor, undoMs } from './run-step.js';
import { releasePermit, permitsOf } from './permits.js';
import { change } from '../entity.js';

export interface CaptureOrder {
  readonly image: ImageRef;
  /** Load the new image onto the same machine, and have the machine confirm it. */
  readonly prove: boolean;
  readonly withinMs: number;
  readonly token: string;
}

/**
 * CAPTURE: makes an image of the machine. The machine is in maintenance throughout, and stays so after a
 * failure, with its disk unchanged; unless the target exists, or may exist, and nothing was touched. Only an
 * existing image with a size may cost the disk it was made from: by its proof.
 */
export async function capture(memory: MachineMemory, order: CaptureOrder): Promise<OperationResult> {
  const { image, prove, withinMs, token } = order;
  const before = memory.state.state;
  happen(memory, 'begin capture', `${formatImageRef(image)} is being captured`);
  const end = Date.now() + withinMs;
  let made = false;
  try {
    const sizeMb = await makeImage(memory, order, end);
    made = true;
    const result = { image, sizeMb };
    changeOperation(memory, { result });
    if (!prove) {
      await backOn(memory, end);
      change(memory, { why: `${formatImageRef(image)} was captured here but not verified` });
      return result;
    }
    await returnToUse(memory, order, end);
    await load(memory, {
      image,
      force: true,
      withinMs: Math.max(1, end - Date.now()),
      token: `${token}/proof`,
    });
    return result;
  } catch (error) {
    if (!made && error instanceof NotDone && error.failure.action === 'IMAGE_EXISTS')
      happen(memory, 'capture left out', undefined, before);
    else await CancellationScope.nonCancellable(() => stay(memory, order, error, end));
    throw error;
  }
}

/** Its system may have new host keys, because those of an image are not for every machine. */
async function returnToUse(memory: MachineMemory, { image }: CaptureOrder, end: number): Promise<void> {
  if (memory.offByUs !== true) return;
  const steps = stepsFor(memory, returnSteps);
  for (const step of steps)
    await runStep(memory, steps, step, { leftMs: undoMs(end - Date.now()), order: { fresh: true } }).catch(
      (error: unknown) => {
        const { answer, failure } = toNotDone(memory, step.action, error);
        const message = `${formatImageRef(image)} was captured, but the machine did not return, so its disk is kept and the image is not verified: ${failure.message}`;
        throw new NotDone(answer, { ...failure, message });
      },
    );
  delete memory.offByUs;
}

async function makeImage(
  memory: MachineMemory,
  { image, token, withinMs }: CaptureOrder,
  end: number,
): Promise<number | undefined> {
  const steps = stepsFor(memory, captureSteps);
  const { capturesFor } = memory.state;
  let sizeMb: number | undefined;
  try {
    for (const step of steps) {
      stopIfCancelled();
      const leftMs = end - Date.now();
      if (leftMs <= 0)
        refuse(
          memory,
          step.action,
          'unknown',
          `the capture did not end within its ${withinMs} ms; its next step was: ${step.step}`,
        );
      const owner = capturesFor === undefined ? {} : { belongs: capturesFor };
      const order = { image, token, slots: permitsOf(memory), ...accessOf(memory, step), ...owner };
      const outcome = await runStep(memory, steps, step, { leftMs, order }).catch((error: unknown) => {
        throw toNotDone(memory, step.action, error);
      });
      if (step.action === 'IMAGE_EXISTS') refuseTarget(memory, image, outcome);
      if (step.action === 'REVOKE_ACCESS') settleCaptured(memory, outcome);
      if (step.action === 'GET_IMAGE_SIZE') sizeMb = outcome.sizeMb;
    }
  } finally {
    await releasePermit(memory);
  }
  if (sizeMb === 0)
    refuse(
      memory,
      'GET_IMAGE_SIZE',
      'unknown',
      `${formatImageRef(image)} was captured, but its size is reported as 0${await deleteEmpty(memory, image, token)}`,
    );
  return sizeMb;
}

/**
 * An empty image would be loaded onto machines. That of a build is deleted with the build.
 * @returns what became of it.
 */
async function deleteEmpty(memory: MachineMemory, image: ImageRef, token: string): Promise<string> {
  if (memory.state.capturesFor !== undefined) return '';
  if (!can(memory, 'DELETE_IMAGE')) return '; delete it yourself, because its provider cannot';
  try {
    await runAction(memory, 'DELETE_IMAGE', { order: { image, token } });
    return ', so it was deleted';
  } catch (error) {
    if (isCancellation(error)) throw error;
    return `; delete it: ${toNotDone(memory, 'DELETE_IMAGE', error).message}`;
  }
}

/** An image may be captured because its user changed it, so a difference does not prevent it. */
function settleCaptured(memory: MachineMemory, outcome: MachineTaskOutcome): void {
  settleAccess(memory, outcome);
  change(memory, { access: undefined });
}

/** Never overwrites an image, nor what may be one. */
function refuseTarget(memory: MachineMemory, image: ImageRef, { exists }: MachineTaskOutcome): void {
  if (exists?.is === 'no') return;
  const what = formatImageRef(image);
  if (exists?.is === 'yes')
    refuse(
      memory,
      'IMAGE_EXISTS',
      'not done',
      `image ${what} already exists; capture another revision of ${image.name}`,
    );
  refuse(
    memory,
    'IMAGE_EXISTS',
    'unknown',
    `it is unknown whether image ${what} already exists, so nothing was captured: ${exists?.why ?? 'no reason was given'}`,
  );
}

async function stay(
  memory: MachineMemory,
  { image }: CaptureOrder,
  error: unknown,
  end: number,
): Promise<void> {
  const why = error instanceof Error && !isCancellation(error) ? error.message : 'it was cancelled';
  // A failed or skipped proof has its own state for the machine; people must inspect it in either case.
  if (memory.state.state === 'failed') happen(memory, 'maintain');
  else if (memory.state.half === undefined) await backOn(memory, end);
  change(memory, { why: `the capture of ${formatImageRef(image)} failed: ${why}` });
}

/** What a user leaves behind is taken out, or the machine is given back. */
export async function unload(memory: MachineMemory): Promise<OperationResult> {
  await clearAccess(memory);
  const before = memory.state.state;
  happen(memory, 'begin load');
  const action = can(memory, 'UNLOAD') ? 'UNLOAD' : 'SANITIZE';
  try {
    await runAction(
      memory,
      action,
      action === 'SANITIZE'
        ? { order: { image: memory.state.image ?? { name: 'none', revision: '0' }, user: memory.state.user } }
        : {},
    );
  } catch (error) {
    await CancellationScope.nonCancellable(async () => {
      happen(memory, 'load left out', 'the data of its user is still on it', before);
    });
    throw toNotDone(memory, action, error);
  }
  if (can(memory, 'ERASE')) await eraseUnloaded(memory, before);
  happen(memory, 'load done');
  change(memory, { user: undefined, image: undefined, unerased: undefined });
  note(memory, action === 'UNLOAD' ? 'unloaded by the provider' : 'sanitised by its own system');
  return {};
}

/** A machine that keeps what its user left is out of use until an unload or a load succeeds. */
async function eraseUnloaded(memory: MachineMemory, before: MachineStateName): Promise<void> {
  try {
    await erase(memory);
  } catch (error) {
    const why = isCancellation(error) ? 'it was cancelled' : toNotDone(memory, 'ERASE', error).message;
    happen(memory, 'load left out', undefined, before);
    happen(memory, 'maintain', `its disks were not erased: ${why}`);
    throw isCancellation(error) ? error : toNotDone(memory, 'ERASE', error);
  }
}
