import { workflowInfo } from '@temporalio/workflow';
import type { ImageUpdate } from '../../model/image/notification.js';
import { imageWorkflowId } from '../../model/names.js';
import { lacksImage, librariesOf, noteImageUpdate } from '../../model/pool/library.js';
import { imageMessages } from '../messages.js';
import { signalIfThere } from '../signal-if-there.js';
import { noteChange } from '../entity.js';
import type { PoolMemory } from './memory.js';

/**
 * An image without an offer that nodes wait for is asked again after this: the next one of its
 * name does not know of the subscription. Others are asked some time later.
 */
const againMs = 60_000;
const believedMs = 3_600_000;

/**
 * Subscribes to the images that the pool makes nodes from, so that a pool at rest does nothing for its images
 * and learns of changes at once.
 */
export function watchImages(memory: PoolMemory, now: number): void {
  const { pool, watched } = memory;
  if (pool.leaving !== undefined) return;
  for (const image of librariesOf(pool)) {
    const { askedAt = -Infinity } = watched[image] ?? {};
    if (now < askedAt + (isLacking(memory, image) ? againMs : believedMs)) continue;
    watched[image] = { askedAt: now };
    ask(memory, image, now);
  }
}

/** When an image without an offer is asked again. */
export function nextWatch(memory: PoolMemory): number | undefined {
  const { pool, watched } = memory;
  if (pool.leaving !== undefined) return undefined;
  const times = librariesOf(pool).flatMap((image) => {
    const known = watched[image];
    return known !== undefined && isLacking(memory, image) ? [known.askedAt + againMs] : [];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Whether a label cannot be served somewhere for want of this image. */
function isLacking({ pool, watched }: PoolMemory, image: string): boolean {
  if (watched[image]?.missing === true || pool.library?.[image]?.gone === true) return true;
  return Object.entries(pool.placements).some(([providerPool, offers]) =>
    Object.entries(offers).some(
      ([label, { libraryImage }]) =>
        libraryImage === image && lacksImage(pool, providerPool, label) !== undefined,
    ),
  );
}

/** Subscriptions are renewed after that. */
export function forgetWatches({ watched }: PoolMemory): void {
  for (const image of Object.keys(watched)) delete watched[image];
}

export function noteImage(memory: PoolMemory, update: ImageUpdate): void {
  if (memory.pool.exported !== undefined) return;
  if (noteImageUpdate(memory.pool, update)) noteChange(memory);
}

function ask(memory: PoolMemory, image: string, now: number): void {
  const key = `image ${image}`;
  memory.checking[key] = true;
  void signalIfThere(imageWorkflowId(image), imageMessages.signals.watch, {
    workflowId: workflowInfo().workflowId,
  })
    .then((isThere) => {
      if (!isThere) memory.watched[image] = { askedAt: now, missing: true };
    })
    .finally(() => {
      delete memory.checking[key];
      noteChange(memory);
    });
}
