import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PinnedResource } from '../model/resource/reference.js';
import { readArchive } from './archive/read-archive.js';
import { unpackInto } from './archive/unpack.js';

export interface ResourceCacheOptions {
  readonly folder: string;
  /** Gets a content from where all workers find it, and sees that it is what its digest says. */
  readonly fetch: (digest: string) => Promise<Uint8Array>;
}

/** A resource on this worker's disk. */
export interface ResourceOnDisk {
  /** The file, or the folder of what the archive holds. */
  readonly path: string;
  /** Of archives: the archive itself. */
  readonly archive?: string;
}

export interface ResourceCache {
  /** @throws ArchiveError, StoreError or whatever `fetch` throws. */
  get(resource: PinnedResource, permissions?: number): Promise<ResourceOnDisk>;
  /** Removes what nobody asked for in a while, and what an earlier process left half done. */
  clear(): Promise<void>;
}

const keptMs = 30 * 24 * 3_600_000;
/** Nobody takes as long as this to write a resource aside. */
const asideMs = 3_600_000;

/**
 * Resources as they were needed here before: written aside and renamed, so each is there as a whole or not at all, also when several workers share the
 * folder. The folder may be deleted while no worker runs.
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
      return resource.format === 'file' ? { path: join(place, resource.resource) } : { path: join(place, 'files'), archive: join(place, 'archive.tar') };
    },
    async clear() {
      for (const name of await readdir(folder).catch(() => [])) {
        const place = join(folder, name);
        const found = await stat(place).catch(() => undefined);
        const limit = name.startsWith('.') ? asideMs : keptMs;
        if (found !== undefined && Date.now() - found.mtimeMs > limit) await rm(place, { recursive: true, force: true });
      }
    },
  };

  async function bring(place: string, resource: PinnedResource, permissions: number | undefined): Promise<void> {
    if (await isThere(place)) {
      await utimes(place, new Date(), new Date());
      return;
    }
    const bytes = await fetch(resource.digest);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const aside = join(folder, `.${randomUUID()}`);
    try {
      await mkdir(aside, { mode: 0o700 });
      if (resource.format === 'file') await writeFile(join(aside, resource.resource), bytes, { mode: permissions ?? 0o600 });
      else {
        await unpackInto(join(aside, 'files'), await readArchive(bytes), permissions);
        await writeFile(join(aside, 'archive.tar'), bytes, { mode: 0o600 });
      }
      await rename(aside, place).catch(async (error: unknown) => {
        // Another worker of this machine was quicker.
        if (!(await isThere(place))) throw error;
      });
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
  }
}

function nameOf({ resource, digest, format }: PinnedResource, permissions: number | undefined): string {
  const mode = permissions === undefined ? '' : `-${permissions.toString(8).padStart(4, '0')}`;
  return `${digest.slice('sha256:'.length)}-${format}${mode}-${resource}`;
}

async function isThere(place: string): Promise<boolean> {
  return stat(place).then((found) => found.isDirectory(), () => false);
}
