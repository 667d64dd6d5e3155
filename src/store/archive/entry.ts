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

/**
 * Whether a link leads out of the folder of its archive, or may: after a name, `..` would start
 * where another link leads, so it may only begin the target.
 */
export function leadsOut(path: string, target: string): boolean {
  if (target === '' || target.startsWith('/')) return true;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const name = parts.findIndex((part) => part !== '..');
  const ups = name < 0 ? parts.length : name;
  return parts.includes('..', ups) || ups > path.split('/').length - 1;
}
