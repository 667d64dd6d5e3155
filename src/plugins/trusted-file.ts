import { readFile } from 'node:fs/promises';
import { refuseUntrusted, UntrustedFile, whyFilesUntrusted } from '../schema/named-files.js';

export { refuseUntrusted, UntrustedFile };

/**
 * Reads a file that controls a provider, such as an inventory.
 * @throws UntrustedFile, otherwise the errors of readFile.
 */
export async function readTrustedFile(path: string): Promise<string> {
  refuseUntrusted('file', path);
  return readFile(path, 'utf8');
}

/** Its parent folders may become writable without a change of the file. */
export function isTrusted(path: string): boolean {
  try {
    return whyFilesUntrusted('file', path) === undefined;
  } catch {
    return false;
  }
}
