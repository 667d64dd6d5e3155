import type { Knowledge } from '../../model/machine/answer.js';
import type { ImageRef } from '../../model/machine/image.js';
import { toNotDone } from './failure.js';
import type { MachineMemory } from './memory.js';
import { can, runAction } from './run-step.js';

/** Longest time for the question, in ms: then the caller decides without the answer. */
const patienceMs = 20_000;

/**
 * Asks the machine's provider for an image. This changes nothing, so it is no operation and waits for none.
 */
export async function askImage(memory: MachineMemory, image: ImageRef): Promise<Knowledge> {
  if (!can(memory, 'IMAGE_EXISTS')) return { is: 'unknown', why: 'its provider cannot tell' };
  try {
    const { exists } = await runAction(memory, 'IMAGE_EXISTS', { order: { image }, leftMs: patienceMs });
    // One that can be fetched from elsewhere need not be here.
    return exists?.is === 'no' && can(memory, 'RETRIEVE_IMAGE')
      ? { is: 'unknown', why: 'it may be fetched from elsewhere' }
      : (exists ?? { is: 'unknown', why: 'it did not say' });
  } catch (error) {
    return { is: 'unknown', why: toNotDone(memory, 'IMAGE_EXISTS', error).message };
  }
}
