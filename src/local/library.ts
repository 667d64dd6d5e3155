import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { makePrivateFolder, writeJsonFile } from './files.js';
import { kindNames, type KindName } from './machine.js';

const run = promisify(execFile);

/** The system the service runs on: always there, never captured, of no size. */
export const hostImage = 'host';

/** `name@revision`; nothing that means something in a path or in the options of a mount. */
export const imageNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}(@[A-Za-z0-9][A-Za-z0-9._-]{0,62})?$/;

const imageSchema = z.object({
  image: z.string(),
  kind: z.enum(kindNames),
  /** What the machine had before. */
  base: z.string(),
  /** Of the capture that made it. */
  token: z.string(),
  sizeBytes: z.number(),
  createdAt: z.string(),
});
export type ImageFacts = z.infer<typeof imageSchema>;

/** What an image's folder holds for each kind of machine: parts of a disk. */
export const partsOf: Readonly<Record<KindName, readonly string[]>> = { sandbox: ['upper', 'root', 'home'], directory: ['files'] };

/** Images that were captured, each a folder of its own: there as a whole or not at all. */
export class Library {
  readonly folder: string;

  constructor(dataFolder: string) {
    this.folder = join(dataFolder, 'images');
    makePrivateFolder(this.folder);
  }

  names(): readonly string[] {
    return [hostImage, ...readdirSync(this.folder).filter((name) => imageNamePattern.test(name)).toSorted()];
  }

  get(image: string): ImageFacts | undefined {
    if (!imageNamePattern.test(image)) return undefined;
    const file = join(this.folder, image, 'image.json');
    return existsSync(file) ? imageSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined;
  }

  isKnown(image: string): boolean {
    return isHost(image) || this.get(image) !== undefined;
  }

  /**
   * Copies what an image has of these parts into a new disk; nothing where it is the host. A layer of an overlay cannot lie inside of
   * another one, and all of ours lie inside of the host's root: so each image holds all that differs from that.
   */
  async copyTo(disk: string, image: string, kind: KindName): Promise<void> {
    if (isHost(image)) return;
    if (this.get(image) === undefined) throw new Error(`There is no image '${image}'. Known: ${this.names().join(', ')}.`);
    for (const part of partsOf[kind]) await copyPart(join(this.folder, image, part), kind === 'directory' ? disk : join(disk, part), kind);
  }

  /** Copies a disk's parts aside and gives them their name at the end. */
  async capture(disk: string, facts: Omit<ImageFacts, 'sizeBytes' | 'createdAt'>): Promise<ImageFacts> {
    const aside = join(this.folder, `.new-${facts.image}`);
    await rm(aside, { recursive: true, force: true });
    makePrivateFolder(aside);
    for (const part of partsOf[facts.kind]) await copyPart(facts.kind === 'directory' ? disk : join(disk, part), join(aside, part), facts.kind);
    const { stdout } = await run('du', ['-sk', aside]);
    const whole = { ...facts, sizeBytes: Number.parseInt(stdout, 10) * 1024, createdAt: new Date().toISOString() };
    writeJsonFile(join(aside, 'image.json'), whole);
    await rename(aside, join(this.folder, facts.image));
    return whole;
  }

  /** Gone at once; a removal that is cut leaves a folder whose name is no image's. */
  remove(image: string): void {
    const aside = join(this.folder, `.old-${image}`);
    renameSync(join(this.folder, image), aside);
    rmSync(aside, { recursive: true, force: true });
  }
}

/** With or without a revision: it has only one. */
export function isHost(image: string): boolean {
  return image === hostImage || image.startsWith(`${hostImage}@`);
}

/** A sandbox's upper layer has marks that only root can copy, and only cp does it. */
async function copyPart(from: string, to: string, kind: KindName): Promise<void> {
  if (kind === 'sandbox') {
    await run('cp', ['-a', '-T', from, to]);
    return;
  }
  await cp(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
}
