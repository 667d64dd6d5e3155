import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';

const maxFiles = 5_000;
const maxBytes = 64 * 1024 * 1024;

/**
 * Names what is no part of a plugin: hidden files, dependencies, what compilers leave there, also while it
 * runs, as Python's does.
 */
const skipped = /^\.|^node_modules$|^__pycache__$|\.d\.[cm]?ts$|\.map$/;

/** SHA-256 over names and contents of a folder's files; a link counts as what it names. */
export function digestFolder(
  folder: string,
): { readonly ok: true; readonly value: string } | { readonly ok: false; readonly wrong: string } {
  const hash = createHash('sha256');
  let files = 0;
  let bytes = 0;
  const open = [''];
  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    for (const item of readdirSync(join(folder, path), { withFileTypes: true }).toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      if (skipped.test(item.name)) continue;
      const name = path === '' ? item.name : `${path}/${item.name}`;
      const full = join(folder, name);
      if (item.isDirectory()) open.push(name);
      if (!item.isFile() && !item.isSymbolicLink()) continue;
      files += 1;
      bytes += item.isFile() ? statSync(full).size : 0;
      if (files > maxFiles || bytes > maxBytes)
        return {
          ok: false,
          wrong: `is too large for a plugin: more than ${maxFiles} files or ${maxBytes} bytes`,
        };
      const content = item.isFile() ? readFileSync(full) : Buffer.from(readlinkSync(full));
      hash.update(`${name}\0${content.length}\0`).update(content);
    }
  }
  return { ok: true, value: hash.digest('hex') };
}
