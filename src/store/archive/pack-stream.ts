import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { create, type ReadEntry, type WriteEntry } from 'tar';

/** What is packed, and what stays behind. */
export interface PackListener {
  readonly onFile?: () => void;
  /** So many bytes of a file were read. */
  readonly onBytes?: (count: number) => void;
  readonly onSkip?: (path: string) => void;
  /** The error to throw in place of one of the file system. */
  readonly onFailure: (cause: unknown) => Error;
}

/**
 * A gzipped tar archive of a file, or of the content of a folder. Owners, the bits for
 * set-user-ID, sockets, FIFOs and devices stay behind; other modes and links are kept.
 */
export async function* packStream(
  path: string,
  { onFile, onBytes, onSkip, onFailure }: PackListener,
): AsyncGenerator<Uint8Array> {
  const place = resolve(path);
  try {
    const isFolder = (await lstat(`${place}/.`).catch(() => undefined))?.isDirectory() === true;
    const [cwd, entry] = isFolder ? [place, '.'] : [dirname(place), `./${basename(place)}`];
    const filter = (of: string, about: Stats | ReadEntry): boolean => {
      if (isCopied(about)) return true;
      onSkip?.(of);
      return false;
    };
    const onWriteEntry = (written: WriteEntry): void => {
      if (written.stat !== undefined) written.stat.mode &= ~setIdBits;
      if (written.type !== 'File' && written.type !== 'Link') return;
      onFile?.();
      if (onBytes !== undefined) countBytes(written, onBytes);
    };
    // A link stands for the file that it leads to.
    const pack = create({ cwd, gzip: true, portable: true, follow: !isFolder, filter, onWriteEntry }, [
      entry,
    ]);
    // It may still work on files after its reader has stopped: then nothing else listens.
    pack.on('error', () => undefined);
    yield* pack;
  } catch (cause) {
    throw onFailure(cause);
  }
}

const setIdBits = 0o6000;

/** A listener to its data would take them from the archive, so this counts what the entry is given. */
function countBytes(entry: WriteEntry, onBytes: (count: number) => void): void {
  // The last part is followed by padding.
  let left = entry.stat?.size ?? 0;
  const write = entry.write.bind(entry) as (...given: readonly unknown[]) => boolean;
  entry.write = (chunk: Uint8Array | string, ...more: readonly unknown[]) => {
    const count = Math.min(left, chunk.length);
    left -= count;
    onBytes(count);
    return write(chunk, ...more);
  };
}

/** What an archive can hold: reading a FIFO or a device may never end. */
function isCopied(about: Stats | ReadEntry): boolean {
  return !('isFile' in about) || about.isFile() || about.isDirectory() || about.isSymbolicLink();
}
