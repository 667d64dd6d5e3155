// @ts-check
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const prefix = '.fetch-';

/**
 * Gives `work` an empty folder inside `parent` and removes it afterwards, with any that a killed process left
 * there. To be called under a lock. Being inside, what was fetched can be renamed to its place.
 * @template T
 * @param {string} parent
 * @param {(folder: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withFetchFolder(parent, work) {
  await mkdir(parent, { recursive: true });
  const leftovers = (await readdir(parent)).filter((name) => name.startsWith(prefix));
  await Promise.all(leftovers.map((name) => rm(join(parent, name), { recursive: true, force: true })));
  const folder = await mkdtemp(join(parent, prefix));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
