/**
 * How a disk is erased: by discarding its blocks, by the drive itself, by one pass of zeros, or by a command.
 */
export const eraseMethods = ['blkdiscard', 'nvme', 'overwrite', 'command'] as const;
type EraseMethod = (typeof eraseMethods)[number];

/** A disk of a machine that is erased after each user. */
export interface DiskToErase {
  /** Its path on the machine. */
  readonly device: string;
  readonly method: EraseMethod;
  /** For `command`: program and arguments, which run on the machine. */
  readonly command?: readonly string[];
}

/** The proof that a disk was erased: what was read from it afterwards. */
export interface ErasedDisk {
  readonly device: string;
  readonly method: EraseMethod;
  readonly bytes: number;
  /** Blocks that were read before and after, spread over the disk. */
  readonly samples: number;
  /** Those that read as zeros afterwards; the others have changed. */
  readonly zeros: number;
  /** Digest of the digests of these blocks, one hexadecimal line each. */
  readonly sha256: string;
}

/** The last time that all disks of a machine were erased. */
export interface Erasure {
  /** RFC 3339. */
  readonly at: string;
  readonly disks: readonly ErasedDisk[];
}
