import { formatImageRef, type ImageRef } from '../../model/machine/image.js';
import type { OperationResult } from '../../model/machine/messages.js';
import { NotDone } from '../machine/failure.js';
import { changeBuild, changeUpload, removeUpload, type ImageMemory } from './memory.js';

interface CaptureTarget {
  readonly provider: string;
  readonly type: string;
  readonly site: string;
  readonly image: ImageRef;
}

/**
 * Records the image of a build before it is captured: from then on there may be one, even if
 * the response is lost. If the target exists already, or may exist, nothing was captured, and
 * the record goes: it would have an image deleted that is not the build's.
 */
export async function recordCapture(
  memory: ImageMemory,
  number: number,
  { image, ...account }: CaptureTarget,
  capture: () => Promise<OperationResult>,
): Promise<void> {
  changeUpload(memory, number, { ...account, state: 'uploading' });
  try {
    const { sizeMb } = await capture();
    changeUpload(memory, number, { ...account, state: 'ready', image: formatImageRef(image) });
    if (sizeMb !== undefined) changeBuild(memory, number, { sizeMb });
  } catch (error) {
    const isRefused = error instanceof NotDone && error.failure.action === 'IMAGE_EXISTS';
    if (isRefused) removeUpload(memory, number, account.provider);
    throw error;
  }
}
