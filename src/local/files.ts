import { mkdirSync, readFileSync } from 'node:fs';
import writeFileAtomic from 'write-file-atomic';
import type { z } from 'zod';
import { messageOf, systemCodeOf } from './errors.js';

/** Makes a folder that only its owner can enter. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Writes a file whole or not at all; readable by its owner only. */
export function writePrivateFile(path: string, content: string): void {
  writeFileAtomic.sync(path, content, { mode: 0o600, fsync: false });
}

/** The file's text, or undefined if it does not exist. */
export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Reads a JSON file; undefined if it is absent. @throws Error that names the file if its content does not
 * match.
 */
export function readJsonFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): z.infer<Schema> | undefined {
  const text = readIfPresent(path);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(
      `${path} is not a file this machine service wrote: ${messageOf(error)}. Repair it, or move it away.`,
      { cause: error },
    );
  }
}

export function writeJsonFile(path: string, value: unknown): void {
  writePrivateFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Members in the order of their names, for digests. */
export function sortedEntries(members: object): readonly (readonly [string, unknown])[] {
  return Object.entries(members).toSorted(([one], [other]) => (one < other ? -1 : 1));
}
