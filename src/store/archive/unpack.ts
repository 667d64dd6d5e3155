import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkEntries } from './check.js';
import type { ArchiveEntry } from './entry.js';

/** Writes entries into a new private folder. Default permissions of files: 0600, or 0700 if executable. */
export async function unpackInto(
  folder: string,
  entries: readonly ArchiveEntry[],
  permissions?: number,
): Promise<void> {
  const checked = checkEntries(entries);
  await mkdir(folder, { mode: 0o700 });
  const made = new Set([folder]);
  const make = async (path: string): Promise<void> => {
    if (made.has(path)) return;
    await make(dirname(path));
    await mkdir(path, { mode: 0o700 });
    made.add(path);
  };
  for (const { path, kind, executable = false, bytes = new Uint8Array() } of checked) {
    const place = join(folder, path);
    if (kind === 'folder') await make(place);
    if (kind !== 'file') continue;
    await make(dirname(place));
    await writeFile(place, bytes, { flag: 'wx', mode: permissions ?? (executable ? 0o700 : 0o600) });
  }
  // Links come last, so that no file is written through a link.
  for (const { path, kind, target = '' } of checked) {
    if (kind !== 'link') continue;
    await make(dirname(join(folder, path)));
    await symlink(target, join(folder, path));
  }
}
