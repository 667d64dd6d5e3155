import { lstat, readdir, realpath, rename, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { wordsForWriteError } from '../../../schema/read-text.js';
import { CliError } from '../../errors.js';

/** Where a copy from a node goes. */
export interface Destination {
  /** The final path. */
  readonly path: string;
  /** A folder of the same file system, for the copy until it is complete. */
  readonly base: string;
}

/**
 * As `cp` does: a folder that exists takes the copy under its name. Links in the written path are followed.
 * @throws CliError NotFound
 */
export async function findDestination(written: string, name: string): Promise<Destination> {
  const isFolder = await isFolderAt(written);
  if (!isFolder && /\/\.?$/.test(written)) throw new CliError('NotFound', `there is no folder ${written}`);
  const path = isFolder ? join(await realpath(written), name) : resolve(written);
  if (await isFolderAt(path)) return { path, base: path };
  const base = dirname(path);
  if (!(await isFolderAt(base))) throw new CliError('NotFound', `there is no folder ${base}`);
  return { path, base };
}

/** Puts a complete copy in place by renaming; checks all of it first. @throws CliError Refused, Failed */
export async function placeTree(from: string, kind: 'file' | 'folder', to: string): Promise<void> {
  if (kind === 'folder') {
    await checkFolder(from, to);
    await placeFolder(from, to).catch((cause: unknown) => {
      throw new CliError('Failed', `only a part of ${to} is in place: ${wordsForWriteError(cause)}`, {
        cause,
      });
    });
    return;
  }
  const [name = '', ...others] = await readdir(from);
  if (others.length > 0 || !(await lstat(join(from, name))).isFile())
    throw new CliError('Failed', `the node sent something other than the file ${basename(to)}`);
  await checkFile(to);
  await rename(join(from, name), to);
}

/** Links are not followed: what exists in place of a folder must be one. */
async function checkFolder(from: string, to: string): Promise<void> {
  const found = await lstat(to).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isDirectory()) throw new CliError('Refused', `${to} exists, and is not a folder`);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const place = join(to, entry.name);
    await (entry.isDirectory() ? checkFolder(join(from, entry.name), place) : checkFile(place));
  }
}

async function checkFile(to: string): Promise<void> {
  if ((await lstat(to).catch(() => undefined))?.isDirectory() === true)
    throw new CliError('Refused', `${to} exists, and is a folder`);
}

async function placeFolder(from: string, to: string): Promise<void> {
  if ((await lstat(to).catch(() => undefined)) === undefined) {
    await rename(from, to);
    return;
  }
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    await (entry.isDirectory() ? placeFolder(source, target) : rename(source, target));
  }
}

async function isFolderAt(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
