/** A file, a folder or a link of an archive. */
export interface ArchiveEntry {
  /** Relative, with `/` between its parts. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  /** Of files: whether it may be executed. No other permission is kept. */
  readonly executable?: boolean;
  /** Of files. */
  readonly bytes?: Uint8Array;
  /** Of links: where it leads, relative to its own folder. */
  readonly target?: string;
}

/** An archive that is broken, unsafe or too large; the message names the entry. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

export const archiveLimits = { bytes: 16 * 1024 * 1024, entries: 10_000, path: 1_000, depth: 32 } as const;
