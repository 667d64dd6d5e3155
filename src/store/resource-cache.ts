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
  /** Fetches a content from the store of all workers, and verifies its digest. */
  readonly fetch: (digest: string) => Promise<Uint8Array>;
}

/** An artifact on this worker's disk. */
interface ResourceOnDisk {
  /** The file, or the folder with the content of the archive. */
  readonly path: string;
  /** For archives: the archive itself. */
  readonly archive?: string;
}

export interface ResourceCache {
  /** @throws ArchiveError, StoreError or an error of `fetch`. */
  get(resource: PinnedResource, permissions?: number): Promise<ResourceOnDisk>;
  /** Removes entries that were not used for 30 days, and leftovers of earlier processes. */
  clear(): Promise<void>;
}

const keptMs = 30 * 24 * 3_600_000;
/** Maximum time for writing an artifact, in ms. */
const longestWriteMs = 3_600_000;

/**
 * A cache of artifacts on disk, private to this user, that several workers may share: each entry is
 * renamed into place, and its digest is verified at each use. It can be deleted while no worker runs.
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
        `${folder} ${distrust.wrong}, but contains files that run on nodes and workers. ${distrust.right}`,
      );
    if (await isUnchanged(place, resource)) {
      await utimes(place, new Date(), new Date());
      return;
    }
    const bytes = await fetch(resource.digest);
    if (digestOf(bytes) !== resource.digest)
      throw new StoreError(
        `the content fetched for ${resource.resource} does not match its digest ${resource.digest}`,
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
        // Another worker of this machine may have written it first.
        if (await isUnchanged(place, resource)) return;
        // A task may still use the changed copy: it is moved away, and removed an hour later.
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

/** Whether an artifact is unchanged: same digest, nothing added, private to this user. */
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
    // An unreadable file, or one of another kind, counts as a change.
    return false;
  }
}

/** Whether a folder contains exactly the files, folders and links of the archive. */
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

/** @throws Error if it is not a regular file, for example a link to one. */
async function readOwnFile(path: string): Promise<Buffer> {
  if (!(await lstat(path)).isFile()) throw new Error(`${path} is not a regular file`);
  return readFile(path);
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
