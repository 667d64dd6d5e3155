import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

export type TextReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly wrong: string; readonly missing?: true };

/**
 * Reads a text file of at most `maxBytes`, or returns the reason why it cannot. Never blocks on a pipe or a device.
 */
export function readTextFile(file: string, maxBytes: number): TextReading {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return notRead(error);
  }
  try {
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) return { ok: false, wrong: 'it is a folder' };
    if (!stat.isFile()) return { ok: false, wrong: 'it is not a regular file' };
    if (stat.size > maxBytes)
      return { ok: false, wrong: `it has ${stat.size} bytes; the limit is ${maxBytes}` };
    const bytes = readFileSync(descriptor);
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch (error) {
    return error instanceof TypeError ? { ok: false, wrong: 'it is not UTF-8 text' } : notRead(error);
  } finally {
    closeSync(descriptor);
  }
}

function notRead(error: unknown): TextReading {
  const wrong = wordsForFileError(error);
  return wrong === missing ? { ok: false, wrong, missing: true } : { ok: false, wrong };
}

const missing = 'there is no such file';

/** Why a file cannot be used, as the end of a sentence. */
export function wordsForFileError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR') return missing;
  if (code === 'EISDIR') return 'it is a folder';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  return error instanceof Error ? error.message : String(error);
}

/** Why a file or folder cannot be created, as the end of a sentence. */
export function wordsForWriteError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'its folder does not exist, or does not accept files';
  if (code === 'ENOTDIR') return 'its path leads through a file';
  if (code === 'EEXIST') return 'it already exists';
  if (code === 'EISDIR') return 'it is a folder';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EROFS') return 'its file system is read-only';
  if (code === 'ENOSPC') return 'no space is left there';
  return error instanceof Error ? error.message : String(error);
}
