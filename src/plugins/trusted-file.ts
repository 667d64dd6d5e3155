import { readFile } from 'node:fs/promises';
import { refuseUntrusted, UntrustedFile, whyFilesUntrusted } from '../schema/named-files.js';

export { refuseUntrusted, UntrustedFile };

/**
 * Reads a file that decides what a provider does, such as an inventory.
 * @throws UntrustedFile, else what readFile throws.
 */
export async function readTrustedFile(path: string): Promise<string> {
  refuseUntrusted('file', path);
  return readFile(path, 'utf8');
}

/** A folder above it may become writable without a change of the file. */
export function isTrusted(path: string): boolean {
  try {
    return whyFilesUntrusted('file', path) === undefined;
  } catch {
    return false;
  }
}
