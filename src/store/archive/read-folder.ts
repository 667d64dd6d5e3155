import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveLimits, ArchiveError, type ArchiveEntry } from './entry.js';

/** Folders of version control systems. */
const skipped = new Set(['.git', '.hg', '.svn']);

/**
 * Reads a folder with hidden files, but without version control data. @throws ArchiveError for devices,
 * sockets, pipes, or exceeded limits.
 */
export async function readFolder(folder: string): Promise<readonly ArchiveEntry[]> {
  const entries: ArchiveEntry[] = [];
  let bytes = 0;
  const open = [''];
  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    for (const name of await readdir(join(folder, path))) {
      if (skipped.has(name)) continue;
      const entry = await readOne(
        folder,
        path === '' ? name : `${path}/${name}`,
        archiveLimits.bytes - bytes,
      );
      entries.push(entry);
      bytes += entry.bytes?.length ?? 0;
      if (entries.length > archiveLimits.entries)
        throw new ArchiveError(`contains more than ${archiveLimits.entries} files and folders`);
      if (entry.kind === 'folder') open.push(entry.path);
    }
  }
  return entries;
}

async function readOne(folder: string, path: string, room: number): Promise<ArchiveEntry> {
  const place = join(folder, path);
  const stat = await lstat(place);
  if (stat.isDirectory()) return { path, kind: 'folder' };
  if (stat.isSymbolicLink()) return { path, kind: 'link', target: await readlink(place) };
  if (!stat.isFile())
    throw new ArchiveError(`${JSON.stringify(path)} is neither a file nor a folder nor a link`);
  if (stat.size > room)
    throw new ArchiveError(
      `contains more than ${archiveLimits.bytes} bytes; ${JSON.stringify(path)} exceeds the limit`,
    );
  return { path, kind: 'file', executable: (stat.mode & 0o100) !== 0, bytes: await readFile(place) };
}
