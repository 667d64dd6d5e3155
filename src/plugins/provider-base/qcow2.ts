import { open } from 'node:fs/promises';

/** The header of a qcow2 file. Tools that open such a file read the other files that it names. */
export interface Qcow2 {
  readonly version: number;
  /** Bytes of the disk. */
  readonly capacity: number;
  /** The backing file. */
  readonly backing?: string;
  /** Whether its data are in another file. */
  readonly hasDataFile: boolean;
}

const magic = 'QFI\u00fb';
/** The name of the backing file is within the first cluster, which has at least this size. */
const mostRead = 65_536;
/** Bit of the incompatible features. */
const dataFileBit = 4n;

/** Undefined for another format. Does not use the qcow2 tools. */
export async function readQcow2(file: string): Promise<Qcow2 | undefined> {
  const handle = await open(file);
  try {
    const header = Buffer.alloc(mostRead);
    await handle.read(header, 0, mostRead, 0);
    if (header.toString('latin1', 0, 4) !== magic) return undefined;
    const version = header.readUInt32BE(4);
    const backingAt = Number(header.readBigUInt64BE(8));
    return {
      version,
      capacity: Number(header.readBigUInt64BE(24)),
      ...(backingAt === 0
        ? {}
        : { backing: header.toString('utf8', backingAt, backingAt + header.readUInt32BE(16)) }),
      hasDataFile: version >= 3 && (header.readBigUInt64BE(72) & dataFileBit) !== 0n,
    };
  } finally {
    await handle.close();
  }
}
