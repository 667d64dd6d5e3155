import type { CancellationScope } from '@temporalio/workflow';
import { cutText } from '../../model/carried.js';
import { longestText } from '../../model/machine/remember.js';
import { type Build, type Upload, findBuild } from '../../model/image/build.js';
import type { ImageWork } from '../../model/image/decide.js';
import type { ImageState } from '../../model/image/state.js';
import { change, type EntityMemory } from '../entity.js';
import type { MachineState } from '../../model/machine/state.js';

/** Holds an image's state during one run of its workflow. The state itself is never mutated. */
export interface ImageMemory extends EntityMemory {
  state: ImageState;
  /** Work tried since the last periodic check; it is not retried before the next. */
  tried: readonly string[];
  /** Of the build under way. */
  scope?: CancellationScope;
  /** The build under way is to end early. */
  cancelled?: true;
  /** Tasks of this run so far. */
  tasks: number;
  /** Work that a step has begun and not ended. */
  working?: ImageWork['do'];
  /** When to retry what failed, in ms since the epoch. */
  retryAt?: number;
}

export function buildOf(memory: ImageMemory, number: number): Build {
  const build = findBuild(memory.state.builds, number);
  if (build === undefined) throw new Error(`build ${number} does not exist`);
  return build;
}

export function changeBuild(memory: ImageMemory, number: number, part: Partial<Build>): void {
  change(memory, {
    builds: memory.state.builds.map((build) => (build.number === number ? { ...build, ...part } : build)),
  });
}

export function noteBuild(memory: ImageMemory, number: number, note: string): void {
  changeBuild(memory, number, {
    notes: [...buildOf(memory, number).notes, cutText(note, longestText)].slice(-20),
  });
}

/** Updates what is known of the image at one provider. */
export function changeUpload(memory: ImageMemory, number: number, upload: Upload): void {
  const { uploads } = buildOf(memory, number);
  const { why: _why, ...before } = uploads.find(({ provider }) => provider === upload.provider) ?? upload;
  changeBuild(memory, number, {
    uploads: [...uploads.filter(({ provider }) => provider !== upload.provider), { ...before, ...upload }],
  });
}

export function removeUpload(memory: ImageMemory, number: number, provider: string): void {
  changeBuild(memory, number, {
    uploads: buildOf(memory, number).uploads.filter((upload) => upload.provider !== provider),
  });
}

export function setMachine(memory: ImageMemory, machine: MachineState): void {
  const { machines } = memory.state;
  const known = machines.some(({ name }) => name === machine.name);
  change(memory, {
    machines: known
      ? machines.map((other) => (other.name === machine.name ? machine : other))
      : [...machines, machine],
  });
}

export function forgetMachine(memory: ImageMemory, name: string): void {
  change(memory, { machines: memory.state.machines.filter((machine) => machine.name !== name) });
}
