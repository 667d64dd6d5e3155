/** A file, folder or symbolic link of an initramfs. */
export interface CpioEntry {
  /** Without a leading slash. */
  readonly path: string;
  /** Type and permissions, as in `st_mode`. */
  readonly mode: number;
  /** Content of a file, or target of a link. */
  readonly data: Buffer;
}

export function cpioFolder(path: string): CpioEntry {
  return { path, mode: 0o040755, data: Buffer.alloc(0) };
}

export function cpioFile(path: string, data: Buffer, permissions = 0o644): CpioEntry {
  return { path, mode: 0o100000 | permissions, data };
}

/** The archive, in the format `newc` that Linux unpacks at boot. Folders come before their files. */
export function writeCpio(entries: readonly CpioEntry[]): Buffer {
  const all = [...entries, { path: 'TRAILER!!!', mode: 0, data: Buffer.alloc(0) }];
  return Buffer.concat(
    all.flatMap(({ path, mode, data }, index) => {
      const name = Buffer.from(`${path}\0`);
      const links = 1;
      const values = [index + 1, mode, 0, 0, links, 0, data.length, 0, 0, 0, 0, name.length, 0];
      const numbers = values.map((value) => value.toString(16).padStart(8, '0')).join('');
      return [...padded(Buffer.concat([Buffer.from(`070701${numbers}`), name])), ...padded(data)];
    }),
  );
}

function padded(part: Buffer): readonly Buffer[] {
  return [part, Buffer.alloc((4 - (part.length % 4)) % 4)];
}
