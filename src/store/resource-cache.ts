import { createHash, randomUUID } from 'node:crypto';
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { PinnedResource } from '../model/artifact/reference.js';
import { whyNotPrivate } from '../schema/trusted-path.js';
import { checkEntries } from './archive/check.js';
import type { ArchiveEntry } from './archive/entry.js';
import { readArchive } from './archive/read-archive.js';
import { unpackInto } from './archive/unpack.js';
import { StoreError } from './store.js';

export interface ResourceCacheOptions {
  readonly folder: string;
  /** Gets a content from where all workers find it, and sees that it is what its digest says. */
  readonly fetch: (digest: string) => Promise<Uint8Array>;
}

/** A resource on this worker's disk. */
interface ResourceOnDisk {
  /** The file, or the folder of what the archive holds. */
  readonly path: string;
  /** Of archives: the archive itself. */
  readonly archive?: string;
}

export interface ResourceCache {
  /** @throws ArchiveError, StoreError or whatever `fetch` throws. */
  get(resource: PinnedResource, permissions?: number): Promise<ResourceOnDisk>;
  /** Removes entries that were not used for 30 days, and leftovers of earlier processes. */
  clear(): Promise<void>;
}

const keptMs = 30 * 24 * 3_600_000;
/** Longest time that writing a resource takes, in ms. */
const longestWriteMs = 3_600_000;

/**
 * A cache of resources on disk, private to this user, that several workers may share: each entry is renamed
 * into place, and its digest is checked at each use. It may be deleted while no worker runs.
 */
export function createResourceCache({ folder, fetch }: ResourceCacheOptions): ResourceCache {
  const underWay = new Map<string, Promise<void>>();
  return {
    async get(resource, permissions) {
      const place = join(folder, nameOf(resource, permissions));
      const writing = underWay.get(place) ?? bring(place, resource, permissions);
      underWay.set(place, writing);
      try {
        await writing;
      } finally {
        underWay.delete(place);
      }
      return resource.format === 'file'
        ? { path: join(place, resource.resource) }
        : { path: join(place, 'files'), archive: join(place, 'archive.tar') };
    },
    async clear() {
      for (const name of await readdir(folder).catch(() => [])) {
        const place = join(folder, name);
        const found = await stat(place).catch(() => undefined);
        const limit = name.startsWith('.') ? longestWriteMs : keptMs;
        if (found !== undefined && Date.now() - found.mtimeMs > limit)
          await rm(place, { recursive: true, force: true });
      }
    },
  };

  async function bring(
    place: string,
    resource: PinnedResource,
    permissions: number | undefined,
  ): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const distrust = whyNotPrivate(folder, await lstat(folder));
    if (distrust !== undefined)
      throw new StoreError(
        `${folder} ${distrust.wrong}, and keeps resources that run on nodes and workers. ${distrust.right}`,
      );
    if (await isUnchanged(place, resource)) {
      await utimes(place, new Date(), new Date());
      return;
    }
    const bytes = await fetch(resource.digest);
    if (digestOf(bytes) !== resource.digest)
      throw new StoreError(
        `what was fetched for ${resource.resource} has another digest than ${resource.digest}`,
      );
    const temporary = join(folder, `.${randomUUID()}`);
    try {
      await mkdir(temporary, { mode: 0o700 });
      if (resource.format === 'file')
        await writeFile(join(temporary, resource.resource), bytes, { mode: permissions ?? 0o600 });
      else {
        await unpackInto(join(temporary, 'files'), await readArchive(bytes), permissions);
        await writeFile(join(temporary, 'archive.tar'), bytes, { mode: 0o600 });
      }
      await rename(temporary, place).catch(async () => {
        // Another worker of this machine was quicker.
        if (await isUnchanged(place, resource)) return;
        // A task may be at work in the copy that was changed: it is moved out of the way, and removed an hour
        // later.
        await rename(place, join(folder, `.${randomUUID()}`));
        await rename(temporary, place);
      });
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  }
}

function nameOf({ resource, digest, format }: PinnedResource, permissions: number | undefined): string {
  const mode = permissions === undefined ? '' : `-${permissions.toString(8).padStart(4, '0')}`;
  return `${digest.slice('sha256:'.length)}-${format}${mode}-${resource}`;
}

/** Whether a resource is unchanged: same digest, nothing added, private to this user. */
async function isUnchanged(place: string, { resource, digest, format }: PinnedResource): Promise<boolean> {
  const found = await lstat(place).catch(() => undefined);
  if (found?.isDirectory() !== true || whyNotPrivate(place, found) !== undefined) return false;
  try {
    const names = new Set(await readdir(place));
    const bytes = await readOwnFile(join(place, format === 'file' ? resource : 'archive.tar'));
    if (digestOf(bytes) !== digest) return false;
    if (format === 'file') return names.size === 1;
    return names.size === 2 && (await holdsExactly(join(place, 'files'), await readArchive(bytes)));
  } catch {
    // A file that cannot be read or is of another kind is a change.
    return false;
  }
}

/** Compares unpacked files with the archive: every file, folder and link of it, and no other. */
async function holdsExactly(folder: string, entries: readonly ArchiveEntry[]): Promise<boolean> {
  const checked = checkEntries(entries);
  const wanted = new Set(
    checked.flatMap(({ path }) =>
      path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/')),
    ),
  );
  const there = (await readdir(folder, { recursive: true, withFileTypes: true })).map(
    ({ parentPath, name }) => relative(folder, join(parentPath, name)),
  );
  if (there.length !== wanted.size || !there.every((path) => wanted.has(path))) return false;
  for (const { path, kind, bytes = new Uint8Array(), target } of checked) {
    const place = join(folder, path);
    if (kind === 'link' && (await readlink(place)) !== target) return false;
    if (kind === 'file' && Buffer.compare(await readOwnFile(place), bytes) !== 0) return false;
  }
  return true;
}

/** @throws Error if it is no regular file, such as a link to one. */
async function readOwnFile(path: string): Promise<Buffer> {
  if (!(await lstat(path)).isFile()) throw new Error(`${path} is no regular file`);
  return readFile(path);
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
