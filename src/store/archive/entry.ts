/** A file, a folder or a link of an archive. */
export interface ArchiveEntry {
  /** Relative, with `/` between its parts. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  /** For files: whether it is executable. Other permissions are dropped. */
  readonly executable?: boolean;
  /** For files. */
  readonly bytes?: Uint8Array;
  /** For links: the target, relative to the link's folder. */
  readonly target?: string;
}

/** A malformed, unsafe or too large archive; the message names the entry. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

export const archiveLimits = { bytes: 16 * 1024 * 1024, entries: 10_000, path: 1_000, depth: 32 } as const;
