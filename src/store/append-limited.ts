import { closeSync, constants, fstatSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasErrorCode } from '../model/system-error.js';

/** Does not follow links: another user must not redirect a log. */
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

export interface Appending {
  readonly file: string;
  readonly chunk: Uint8Array;
  /** Maximum size of the file, in bytes. */
  readonly limit: number;
  /** Written where the log is cut. */
  readonly notice: string;
}

/**
 * Appends to a file up to its limit, and creates its folder; returns `full` if the file was ever
 * cut. Synchronous: a write of 64 KiB takes 0.1 ms, while a paused reader would buffer megabytes.
 */
export function appendLimited(work: Appending): 'full' | undefined {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return append(work);
    } catch (error) {
      // Another process may remove the empty folder at any time.
      if (!isAbsent(error) || attempt === 3) throw error;
      mkdirSync(dirname(work.file), { recursive: true, mode: 0o700 });
    }
  }
}

export function isAbsent(error: unknown): boolean {
  return hasErrorCode(error, 'ENOENT');
}

function append({ file, chunk, limit, notice }: Appending): 'full' | undefined {
  const descriptor = openSync(file, flags, 0o600);
  try {
    const room = limit - fstatSync(descriptor).size;
    // With the notice, a file that was cut exceeds its limit.
    if (room < 0) return 'full';
    if (chunk.length <= room) {
      writeAll(descriptor, chunk);
      return undefined;
    }
    writeAll(descriptor, Buffer.concat([cutLines(chunk, room), Buffer.from(notice)]));
    return 'full';
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at, bytes.length - at);
}

/** The first bytes of a chunk, with an incomplete last line replaced by newlines. */
function cutLines(chunk: Uint8Array, room: number): Uint8Array {
  const cut = Buffer.from(chunk.subarray(0, room));
  const end = cut.lastIndexOf(0x0a) + 1;
  return end === 0 && !chunk.includes(0x0a) ? cut : cut.fill(0x0a, end);
}
