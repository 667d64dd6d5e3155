import { bounds, partBytes } from '../bounds.js';
import type { ImageState } from './state.js';

/**
 * What one build may still get: notes, files and uploads, and the machines that it is made and validated on.
 */
const buildBytes = 200_000;
const machineBytes = 250_000;

/** Subscribed pools; further ones ask again. */
export const mostWatchers = 1_000;

/** Why no further build can begin; undefined if one can. */
export function refuseBuild(state: ImageState): string | undefined {
  const { name } = state;
  const builds = partBytes(bounds.image.builds, state);
  const left = bounds.image.builds.most - buildBytes;
  if (builds > left)
    return `the builds of image ${name} have ${builds} bytes as JSON; the limit before another build is ${left}; keep fewer builds, or delete some: heddle image delete ${name} --build NUMBER`;
  const machines = partBytes(bounds.image.machines, state);
  const room = bounds.image.machines.most - machineBytes;
  return machines <= room
    ? undefined
    : `machines of earlier builds of image ${name} could not be deleted (${machines} bytes as JSON; the limit before another build is ${room}): ${state.machines
        .map((machine) => machine.name)
        .slice(0, 5)
        .join(', ')}; delete them at their provider`;
}
