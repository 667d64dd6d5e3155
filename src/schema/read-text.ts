import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  statSync,
  type Stats,
} from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { hasErrorCode } from '../model/system-error.js';

export type TextReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly wrong: string; readonly missing?: true };

/**
 * Reads a text file of at most `maxBytes`, or returns the reason why it cannot. Never blocks on
 * a pipe or a device.
 */
export function readTextFile(file: string, maxBytes: number): TextReading {
  let descriptor: number;
  try {
    descriptor = openSync(file, withoutBlocking);
  } catch (error) {
    return notRead(error);
  }
  try {
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) return { ok: false, wrong: 'it is a folder' };
    if (isSpecial(stat)) return { ok: false, wrong: notRegular };
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

/** As `readTextFile`, but a link without its target is not `missing`. */
export function readLinkedFile(file: string, maxBytes: number): TextReading {
  const reading = readTextFile(file, maxBytes);
  if (reading.ok || reading.missing !== true || !isPresent(file)) return reading;
  return { ok: false, wrong: `it is a link to ${readlinkSync(file)}, which does not exist` };
}

/** Whether there is a file, or a link, even to a target that does not exist. */
export function isPresent(file: string): boolean {
  return statOrNothing(lstatSync, file) !== undefined;
}

/** A pipe, socket or device, whose end a reader may wait for forever. */
class NotRegularFile extends Error {
  readonly path: string;

  constructor(path: string) {
    super(`${path} is not a regular file`);
    this.path = path;
  }
}

/**
 * Opens a file for reading. Never blocks on a pipe or a device; a folder is opened, and reading
 * it fails with EISDIR.
 * @throws NotRegularFile, otherwise the errors of `open`.
 */
export async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, withoutBlocking).catch((error: unknown) => {
    throw isSocketError(error) ? new NotRegularFile(path) : error;
  });
  try {
    if (isSpecial(await file.stat())) throw new NotRegularFile(path);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The text of a file. @throws as `openFile`, and the errors of `readFile`. */
export async function readRegularFile(path: string): Promise<string> {
  const file = await openFile(path);
  try {
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/**
 * For files that a library reads by their paths; absent and inaccessible ones pass. @throws NotRegularFile
 */
export function refuseSpecial(path: string): void {
  const stat = statOrNothing(statSync, path);
  if (stat !== undefined && isSpecial(stat)) throw new NotRegularFile(path);
}

const withoutBlocking = constants.O_RDONLY | constants.O_NONBLOCK;
const notRegular = 'it is not a regular file';

function isSpecial(stat: Stats): boolean {
  return !stat.isFile() && !stat.isDirectory();
}

function statOrNothing(stat: (path: string) => Stats, path: string): Stats | undefined {
  try {
    return stat(path);
  } catch {
    return undefined;
  }
}

function isSocketError(error: unknown): boolean {
  return hasErrorCode(error, 'ENXIO');
}

function notRead(error: unknown): TextReading {
  const wrong = wordsForFileError(error);
  return wrong === missing ? { ok: false, wrong, missing: true } : { ok: false, wrong };
}

const missing = 'there is no such file';

/** Why a file cannot be used, as the end of a sentence. */
export function wordsForFileError(error: unknown): string {
  if (error instanceof NotRegularFile || isSocketError(error)) return notRegular;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR') return missing;
  return sharedWords(code) ?? (error instanceof Error ? error.message : String(error));
}

/** Why a file or folder cannot be created, as the end of a sentence. */
export function wordsForWriteError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'its folder does not exist, or does not accept files';
  if (code === 'ENOTDIR') return 'its path leads through a file';
  if (code === 'EEXIST') return 'it already exists';
  if (code === 'EROFS') return 'its file system is read-only';
  if (code === 'ENOSPC') return 'no space is left there';
  if (code === 'EDQUOT') return 'the disk quota there is exhausted';
  return sharedWords(code) ?? (error instanceof Error ? error.message : String(error));
}

/** Whether an error, or a cause of it, comes from a disk that is full, broken or read-only. */
export function isDiskFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && diskFaults.has(error.code)) || isDiskFault(error.cause);
}

/** Whether an error comes from a disk without space, or from a quota. */
export function isDiskFull(error: unknown): boolean {
  return hasErrorCode(error, 'ENOSPC') || hasErrorCode(error, 'EDQUOT');
}

const diskFaults: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO']);

function sharedWords(code: unknown): string | undefined {
  if (code === 'EISDIR') return 'it is a folder';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'ELOOP') return 'its links lead in a circle';
  if (code === 'ENAMETOOLONG') return 'its name is too long';
  if (code === 'EIO') return 'its disk reports an input/output error';
  return undefined;
}
