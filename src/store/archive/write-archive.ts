import { Header, Pax } from 'tar';
import { checkEntries } from './check.js';
import type { ArchiveEntry } from './entry.js';

const block = 512;

/** Writes a reproducible tar archive: equal entries result in equal bytes. */
export function writeArchive(entries: readonly ArchiveEntry[]): Uint8Array {
  const parts = checkEntries(entries).flatMap((entry) => {
    const bytes = Buffer.from(entry.bytes ?? []);
    return [...headerOf(entry, bytes.length), bytes, Buffer.alloc(paddingOf(bytes.length))];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function headerOf(
  { path, kind, executable = false, target = '' }: ArchiveEntry,
  size: number,
): readonly Buffer[] {
  const data = {
    path: kind === 'folder' ? `${path}/` : path,
    size,
    linkpath: target,
    mtime: new Date(0),
    uid: 0,
    gid: 0,
    mode: kind === 'folder' || executable ? 0o755 : 0o644,
    type: kind === 'folder' ? 'Directory' : kind === 'link' ? 'SymbolicLink' : 'File',
  } as const;
  const header = Buffer.alloc(block);
  // Values that do not fit into the header are written to a Pax header before it.
  const needsMore = new Header(data).encode(header);
  return needsMore
    ? [new Pax({ path: data.path, ...(target === '' ? {} : { linkpath: target }) }).encode(), header]
    : [header];
}

function paddingOf(size: number): number {
  return (block - (size % block)) % block;
}
