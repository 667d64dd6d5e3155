import type { ImageRef } from '../machine/image.js';

/** `ready`: it was validated, and is offered. `deleting`: parts of it may still be somewhere. */
export const buildStates = ['building', 'ready', 'failed', 'cancelled', 'deleting'] as const;
export type BuildState = (typeof buildStates)[number];

export const uploadStates = ['waiting', 'uploading', 'ready', 'failed', 'deleting'] as const;

/** The step of a build that no builder has taken up yet. */
export const waitsForBuilder = 'waits for a builder';

/** One making of an image; its number is the image's revision. */
export interface Build {
  readonly number: number;
  readonly state: BuildState;
  readonly startedAt: string;
  readonly endedAt?: string;
  /** Current step of a running build. */
  readonly step?: string;
  /** Why it failed, or is deleted. */
  readonly why?: string;
  readonly sizeMb?: number;
  readonly files: readonly ImageFile[];
  readonly uploads: readonly Upload[];
  readonly provenance: Provenance;
  /** What went otherwise than planned and did not stop it. */
  readonly notes: readonly string[];
}

/** A file on the builders of its site. */
export interface ImageFile {
  readonly format: string;
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly site: string;
}

/** The image at one provider account. */
export interface Upload {
  readonly provider: string;
  readonly type: string;
  readonly site: string;
  /** `waiting`: requested, and not begun. */
  readonly state: (typeof uploadStates)[number];
  /** The provider's own word for it; absent while it is unknown. */
  readonly image?: string;
  readonly why?: string;
}

/** Where an image comes from. */
export interface Provenance {
  /** Digest of what it was made by. */
  readonly recipe: string;
  /** For people: base and services, or the command. */
  readonly source: string;
  readonly by: string;
  /** The machine it was captured on, by its key. */
  readonly machine?: string;
  /** Builder that made its files. */
  readonly builder?: string;
  readonly validated?: string;
}

export function imageRefOf(name: string, { number }: Pick<Build, 'number'>): ImageRef {
  return { name, revision: String(number) };
}

export function isGone({ files, uploads }: Build): boolean {
  return files.length === 0 && uploads.length === 0;
}

export function findBuild(builds: readonly Build[], number: number): Build | undefined {
  return builds.find((build) => build.number === number);
}
