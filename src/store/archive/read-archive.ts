import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import { checkEntries } from './check.js';
import { archiveLimits, ArchiveError, type ArchiveEntry } from './entry.js';

const unzip = promisify(gunzip);

/** Maximum size of a tar file: contents, headers and padding. */
const maxTarBytes = archiveLimits.bytes + archiveLimits.entries * 4 * 1_024;

/**
 * Reads a tar archive, gzipped or not, into memory. Drops owners, times and most permissions.
 * @throws ArchiveError
 */
export async function readArchive(content: Uint8Array): Promise<readonly ArchiveEntry[]> {
  const tar = await withoutGzip(content);
  const entries: ArchiveEntry[] = [];
  let failure: Error | undefined;
  await new Promise<void>((resolve) => {
    const fail = (error: Error): void => {
      failure ??= error;
      resolve();
    };
    const parser = new Parser({
      strict: true,
      maxMetaEntrySize: 64 * 1024,
      onReadEntry: (entry) => {
        if (entries.length > archiveLimits.entries)
          fail(new ArchiveError(`contains more than ${archiveLimits.entries} files and folders`));
        try {
          readEntry(entry, (read) => entries.push(read));
        } catch (error) {
          fail(error instanceof Error ? error : new Error(String(error)));
          entry.resume();
        }
      },
    });
    parser.on('end', resolve);
    parser.on('error', (error: Error) =>
      fail(new ArchiveError(`is not a valid tar archive: ${error.message}`, { cause: error })),
    );
    parser.on('ignoredEntry', (entry: ReadEntry) =>
      fail(new ArchiveError(`${JSON.stringify(entry.path)} is of an unsupported type: ${entry.type}`)),
    );
    parser.end(Buffer.from(tar));
  });
  if (failure !== undefined) throw failure;
  return checkEntries(entries);
}

function isGzipped(content: Uint8Array): boolean {
  return content[0] === 0x1f && content[1] === 0x8b;
}

async function withoutGzip(content: Uint8Array): Promise<Uint8Array> {
  if (!isGzipped(content)) return content;
  try {
    return await unzip(content, { maxOutputLength: maxTarBytes });
  } catch (cause) {
    const wrong =
      cause instanceof RangeError
        ? `is larger than ${archiveLimits.bytes} bytes when unpacked`
        : `cannot be unpacked: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new ArchiveError(wrong, { cause });
  }
}

function readEntry(entry: ReadEntry, take: (read: ArchiveEntry) => void): void {
  const { path, type, mode = 0, linkpath = '' } = entry;
  if (type === 'Directory') {
    take({ path, kind: 'folder' });
    entry.resume();
    return;
  }
  if (type === 'SymbolicLink') {
    take({ path, kind: 'link', target: linkpath });
    entry.resume();
    return;
  }
  if (type !== 'File' && type !== 'OldFile' && type !== 'ContiguousFile') {
    const what = type === 'Link' ? 'a hard link' : `of an unsupported type: ${type}`;
    throw new ArchiveError(`${JSON.stringify(path)} is ${what}`);
  }
  const chunks: Buffer[] = [];
  entry.on('data', (chunk: Buffer) => chunks.push(chunk));
  entry.on('end', () =>
    take({ path, kind: 'file', executable: (mode & 0o100) !== 0, bytes: Buffer.concat(chunks) }),
  );
}
