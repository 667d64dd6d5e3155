import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';

/** Links are not followed: a log is never written to where someone else let its name point. */
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

export interface Appending {
  readonly file: string;
  readonly chunk: Uint8Array;
  /** Largest size of the file, in bytes. */
  readonly limit: number;
  /** Follows what was cut. */
  readonly notice: string;
}

/**
 * Adds to a file's end, or as much as there is room for; says `full` when that was not all, now or before. At
 * once: the system takes 64 KiB in a tenth of a millisecond, and a reader that was paused meanwhile would
 * pile up megabytes.
 */
export function appendLimited({ file, chunk, limit, notice }: Appending): 'full' | undefined {
  const descriptor = openSync(file, flags, 0o600);
  try {
    const room = limit - fstatSync(descriptor).size;
    // The notice takes a file that was cut beyond its limit.
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

/**
 * So many bytes of a chunk. A line that does not fit as a whole gives way to empty ones: half of it nobody
 * can read.
 */
function cutLines(chunk: Uint8Array, room: number): Uint8Array {
  const cut = Buffer.from(chunk.subarray(0, room));
  const end = cut.lastIndexOf(0x0a) + 1;
  return end === 0 && !chunk.includes(0x0a) ? cut : cut.fill(0x0a, end);
}
