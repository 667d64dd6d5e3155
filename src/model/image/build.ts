import type { Build } from '../../schema/output/image.js';
import type { ImageRef } from '../machine/image.js';

export type { Build };

export type BuildState = Build['state'];

/** The step of a build that no builder has taken up yet. */
export const waitsForBuilder = 'waits for a builder';

/** A file on the builders of its site. */
export type ImageFile = Build['files'][number];

/** The image at one provider account. */
export type Upload = Build['uploads'][number];

/** Where an image comes from. */
export type Provenance = Build['provenance'];

export function imageRefOf(name: string, { number }: Pick<Build, 'number'>): ImageRef {
  return { name, revision: String(number) };
}

export function isGone({ files, uploads }: Build): boolean {
  return files.length === 0 && uploads.length === 0;
}

export function findBuild(builds: readonly Build[], number: number): Build | undefined {
  return builds.find((build) => build.number === number);
}
