// @ts-check
import { createHash } from 'node:crypto';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * One digest of the names and contents of files; a folder stands for all files below it. Hexadecimal.
 * @param {readonly string[]} paths
 */
export async function hashFiles(paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    for (const file of await filesOf(path)) {
      hash
        .update(`${file}\0`)
        .update(await readFile(file))
        .update('\0');
    }
  }
  return hash.digest('hex');
}

/** @param {string} path @returns {Promise<string[]>} */
async function filesOf(path) {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
