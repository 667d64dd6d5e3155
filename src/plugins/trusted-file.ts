import { refuseUntrusted, UntrustedFile, whyFilesUntrusted } from '../schema/named-files.js';
import { openFile, readRegularFile, refuseSpecial, wordsForFileError } from '../schema/read-text.js';

export { openFile, readRegularFile, refuseSpecial, refuseUntrusted, UntrustedFile, wordsForFileError };

/**
 * Reads a file that controls a provider, such as an inventory.
 * @throws UntrustedFile, NotRegularFile, otherwise the errors of readFile.
 */
export async function readTrustedFile(path: string): Promise<string> {
  refuseUntrusted('file', path);
  return readRegularFile(path);
}

/** Its parent folders may become writable without a change of the file. */
export function isTrusted(path: string): boolean {
  try {
    return whyFilesUntrusted('file', path) === undefined;
  } catch {
    return false;
  }
}
