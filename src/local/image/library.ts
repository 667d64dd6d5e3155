import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { childEnvironment } from '../../config/child-environment.js';
import { requireProgram } from '../../config/run-program.js';
import { makePrivateFolder, writeJsonFile } from '../files.js';
import { kindNames, type KindName } from '../machine.js';

/** The system the service runs on: always available, never captured, of size 0. */
const hostImage = 'host';

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
  /** Given at the upload or capture. */
  tags: z.record(z.string(), z.string()).default({}),
  createdAt: z.string(),
});
export type ImageFacts = z.infer<typeof imageSchema>;

/** What an image's folder holds for each kind of machine: parts of a disk. */
const partsOf: Readonly<Record<KindName, readonly string[]>> = {
  sandbox: ['upper', 'root', 'home'],
  directory: ['files'],
};

/** An image that was sent, unpacked and not in the library yet. */
export interface Received {
  readonly folder: string;
  readonly kind: KindName;
  readonly sizeBytes: number;
}

/** Captured and uploaded images, each in a folder that is complete or absent. */
export class Library {
  readonly folder: string;

  constructor(dataFolder: string) {
    this.folder = join(dataFolder, 'images');
    makePrivateFolder(this.folder);
    // Leftovers of a service that was killed.
    for (const left of readdirSync(this.folder).filter((name) => /^\.(?:new|old)-/.test(name)))
      rmSync(join(this.folder, left), { recursive: true, force: true });
  }

  names(): readonly string[] {
    return [
      hostImage,
      ...readdirSync(this.folder)
        .filter((name) => imageNamePattern.test(name))
        .toSorted(),
    ];
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
   * Copies an image's parts into a new disk; nothing for the host. Overlay layers cannot be nested in the
   * host's root, so each image holds all its differences from the host.
   */
  async copyTo(disk: string, image: string, kind: KindName): Promise<void> {
    if (isHost(image)) return;
    if (this.get(image) === undefined)
      throw new Error(`Image '${image}' does not exist. Known: ${this.names().join(', ')}.`);
    for (const part of partsOf[kind])
      await copyPart(join(this.folder, image, part), kind === 'directory' ? disk : join(disk, part), kind);
  }

  /** Copies a disk's parts into a temporary folder and renames it at the end. */
  async capture(disk: string, facts: Omit<ImageFacts, 'sizeBytes' | 'createdAt'>): Promise<ImageFacts> {
    const temporary = join(this.folder, `.new-${facts.image}`);
    await rm(temporary, { recursive: true, force: true });
    makePrivateFolder(temporary);
    try {
      for (const part of partsOf[facts.kind])
        await copyPart(
          facts.kind === 'directory' ? disk : join(disk, part),
          join(temporary, part),
          facts.kind,
        );
      const whole = { ...facts, sizeBytes: await sizeOf(temporary), createdAt: new Date().toISOString() };
      writeJsonFile(join(temporary, 'image.json'), whole);
      await rename(temporary, join(this.folder, facts.image));
      return whole;
    } catch (error) {
      await rm(temporary, { recursive: true, force: true });
      throw error;
    }
  }

  /** Streams an image as a tar archive; the stream fails unless tar succeeds. */
  pack(image: string, kind: KindName): Readable {
    const words = [...tarAttributes, '-C', join(this.folder, image), '-cf', '-', ...partsOf[kind]];
    const tar = spawn('tar', words, { env: childEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = endOf(tar);
    const archive = new PassThrough();
    void (async () => {
      try {
        await pipeline(tar.stdout, archive, { end: false });
      } catch {
        tar.kill();
      }
      const why = await ended;
      if (why === undefined) archive.end();
      else archive.destroy(new Error(`tar cannot pack the image: ${why}`));
    })();
    return archive;
  }

  /**
   * Unpacks an archive into a temporary folder and detects its kind of machine. The image exists only after
   * `take`; nothing of an incomplete archive remains.
   */
  async receive(image: string, archive: Readable, isCompressed: boolean): Promise<Received> {
    const folder = join(this.folder, `.new-${image}.${randomUUID()}`);
    makePrivateFolder(folder);
    try {
      await unpackInto(folder, archive, isCompressed);
      const kind = kindNames.find((name) => partsOf[name].every((part) => existsSync(join(folder, part))));
      if (kind === undefined)
        throw new Error(
          `it holds neither ${kindNames.map((name) => partsOf[name].join(', ')).join(' nor ')}`,
        );
      return { folder, kind, sizeBytes: await sizeOf(folder) };
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  take(
    { folder, kind, sizeBytes }: Received,
    image: string,
    { token, tags }: Pick<ImageFacts, 'token' | 'tags'>,
  ): void {
    try {
      writeJsonFile(join(folder, 'image.json'), {
        image,
        kind,
        base: hostImage,
        token,
        tags,
        sizeBytes,
        createdAt: new Date().toISOString(),
      } satisfies ImageFacts);
      renameSync(folder, join(this.folder, image));
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  refuse({ folder }: Received): void {
    rmSync(folder, { recursive: true, force: true });
  }

  /** Removes an image at once. An interrupted removal leaves a folder whose name is not an image's. */
  remove(image: string): void {
    const removed = join(this.folder, `.old-${image}`);
    renameSync(join(this.folder, image), removed);
    rmSync(removed, { recursive: true, force: true });
  }
}

/** With or without a revision: it has only one. */
export function isHost(image: string): boolean {
  return image === hostImage || image.startsWith(`${hostImage}@`);
}

/** Extended attributes mark what an overlay deletes from the host; only GNU tar keeps them. */
const tarAttributes =
  process.platform === 'linux' ? ['--xattrs', '--xattrs-include=*', '--numeric-owner'] : [];

/** Why a program failed, with the last line that it printed; undefined if it succeeded. */
async function endOf(
  child: ChildProcessByStdio<Writable | null, Readable | null, Readable>,
): Promise<string | undefined> {
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    printed = (printed + chunk).slice(-longestMessage);
  });
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    const last = printed.trim().split('\n').at(-1);
    return code === 0
      ? undefined
      : last || (code === null ? `it was ended by ${signal}` : `exit code ${code}`);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const longestMessage = 10_000;

/** Unpacks a tar archive as it arrives. @throws Error with the last line that tar printed. */
async function unpackInto(folder: string, archive: Readable, isCompressed: boolean): Promise<void> {
  const words = [...tarAttributes, ...(isCompressed ? ['-z'] : []), '-C', folder, '-xf', '-'];
  const tar = spawn('tar', words, { env: childEnvironment(), stdio: ['pipe', 'ignore', 'pipe'] });
  const ended = endOf(tar);
  // tar may stop reading before the end; its own message then says why.
  await pipeline(archive, tar.stdin).catch(() => undefined);
  const why = await ended;
  if (why !== undefined) throw new Error(`tar cannot unpack the archive: ${why}`);
}

/** Size of a folder on disk in bytes. */
async function sizeOf(folder: string): Promise<number> {
  return Number.parseInt(await requireProgram('du', ['-sk', folder]), 10) * 1024;
}

/** A sandbox's upper layer has marks that only root can copy, and only cp does it. */
async function copyPart(from: string, to: string, kind: KindName): Promise<void> {
  if (kind === 'sandbox') {
    await requireProgram('cp', ['-a', '-T', from, to]);
    return;
  }
  await cp(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
}
