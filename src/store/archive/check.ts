import { posix } from 'node:path';
import { archiveLimits, ArchiveError, leadsOut, type ArchiveEntry } from './entry.js';

/**
 * Checks that all entries stay inside their folder, pass through no link and are unique; sorts them by path.
 * @throws ArchiveError
 */
export function checkEntries(entries: readonly ArchiveEntry[]): readonly ArchiveEntry[] {
  if (entries.length > archiveLimits.entries)
    throw new ArchiveError(`contains more than ${archiveLimits.entries} files and folders`);
  const bytes = entries.reduce((sum, entry) => sum + (entry.bytes?.length ?? 0), 0);
  if (bytes > archiveLimits.bytes)
    throw new ArchiveError(`contains ${bytes} bytes; the limit is ${archiveLimits.bytes}`);
  const byPath = new Map<string, ArchiveEntry>();
  for (const entry of entries) {
    const path = cleanPath(entry.path);
    // The folder itself, as tar writes it.
    if (path === '' && entry.kind === 'folder') continue;
    if (path === '') throw refused(entry.path, 'has no name');
    const known = byPath.get(path);
    if (known !== undefined && !(known.kind === 'folder' && entry.kind === 'folder'))
      throw refused(path, 'occurs twice');
    byPath.set(path, { ...entry, path });
  }
  for (const entry of byPath.values()) checkPlace(entry, byPath);
  return [...byPath.values()].toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

function cleanPath(path: string): string {
  if (path.length > archiveLimits.path)
    throw refused(path, `has a path of more than ${archiveLimits.path} characters`);
  if (/[\p{Cc}\\]/u.test(path)) throw refused(path, 'has a control character or a backslash in its path');
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) throw refused(path, 'has an absolute path');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw refused(path, 'leaves the archive by ..');
  if (parts.length > archiveLimits.depth)
    throw refused(path, `is nested more than ${archiveLimits.depth} folders deep`);
  return parts.join('/');
}

function checkPlace(entry: ArchiveEntry, byPath: ReadonlyMap<string, ArchiveEntry>): void {
  for (let above = posix.dirname(entry.path); above !== '.'; above = posix.dirname(above)) {
    const kind = byPath.get(above)?.kind ?? 'folder';
    if (kind !== 'folder') throw refused(entry.path, `would be written through the ${kind} ${above}`);
  }
  if (entry.kind !== 'link') return;
  const { target = '' } = entry;
  if (target === '' || target.startsWith('/') || /[\p{Cc}\\]|^[A-Za-z]:/u.test(target))
    throw refused(
      entry.path,
      `is a link to ${JSON.stringify(target)}, which is not a path within the archive`,
    );
  if (leadsOut(entry.path, target))
    throw refused(entry.path, `is a link out of the archive, to ${JSON.stringify(target.slice(0, 200))}`);
  // Another link could change the meaning of a path, so each link must lead directly to a file or folder.
  const end = posix.normalize(posix.join(posix.dirname(entry.path), target)).replace(/\/$/, '');
  const leadsTo = byPath.get(end);
  if (leadsTo?.kind === 'link') throw refused(entry.path, `is a link to a link, ${end}`);
  if (leadsTo === undefined && ![...byPath.keys()].some((path) => path.startsWith(`${end}/`)))
    throw refused(entry.path, `is a link to ${end}, which the archive does not contain`);
  for (let above = posix.dirname(end); above !== '.'; above = posix.dirname(above)) {
    if (byPath.get(above)?.kind === 'link')
      throw refused(entry.path, `is a link that leads through the link ${above}`);
  }
}

function refused(path: string, wrong: string): ArchiveError {
  return new ArchiveError(`${JSON.stringify(path.slice(0, 200))} ${wrong}`);
}
