/** The content of the one file that a tar archive holds; undefined when the archive holds none. */
export function readSingleFile(archive: Buffer): string | undefined {
  for (let at = 0; at + 512 <= archive.length;) {
    const header = archive.subarray(at, at + 512);
    const size = Number.parseInt(header.toString('latin1', 124, 136).replace(/\0.*$/, '').trim() || '0', 8);
    const type = header.toString('latin1', 156, 157);
    if (header.every((byte) => byte === 0) || !Number.isFinite(size)) return undefined;
    // Others are notes about the file that follows.
    if (type === '0' || type === '\0') return archive.toString('utf8', at + 512, at + 512 + size);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return undefined;
}
