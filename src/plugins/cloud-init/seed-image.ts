/** The size of a floppy disk: 2880 sectors of 512 bytes, FAT12. */
const sectorBytes = 512;
const sectors = 2_880;
const fatSectors = 9;
const rootEntries = 224;
const rootSector = 1 + 2 * fatSectors;
const dataSector = rootSector + (rootEntries * 32) / sectorBytes;

/**
 * The image of a disk that cloud-init reads at the first boot (data source NoCloud): a FAT file system with
 * the label CIDATA and these files. It is deterministic and needs no external program. File names have at
 * most 13 characters.
 * @throws RangeError if the files exceed a floppy disk.
 */
export function makeSeedImage(files: Readonly<Record<string, string>>): Buffer {
  const image = Buffer.alloc(sectors * sectorBytes);
  writeBootSector(image);
  const links: number[] = [0xff0, 0xfff];
  let entry = rootSector * sectorBytes;
  image.write('CIDATA     ', entry, 'latin1');
  image[entry + 11] = 0x08;
  entry += 32;
  for (const [index, [name, text]] of Object.entries(files).entries()) {
    const content = Buffer.from(text);
    const first = links.length;
    const clusters = Math.ceil(content.length / sectorBytes);
    const at = (dataSector + first - 2) * sectorBytes;
    if (name.length > 13 || at + content.length > image.length)
      throw new RangeError(`${name} does not fit onto the disk that cloud-init reads`);
    content.copy(image, at);
    for (let cluster = 1; cluster <= clusters; cluster += 1)
      links.push(cluster === clusters ? 0xfff : first + cluster);
    writeEntry(image.subarray(entry, entry + 64), {
      name,
      short: `FILE${index}`.padEnd(11),
      first: clusters === 0 ? 0 : first,
      size: content.length,
    });
    entry += 64;
  }
  for (const start of [1, 1 + fatSectors]) writeLinks(image.subarray(start * sectorBytes), links);
  return image;
}

function writeBootSector(image: Buffer): void {
  Buffer.from([0xeb, 0x3c, 0x90]).copy(image);
  image.write('HEDDLE  ', 3, 'latin1');
  image.writeUInt16LE(sectorBytes, 11);
  // Sectors in a cluster, reserved sectors, tables.
  image[13] = 1;
  image.writeUInt16LE(1, 14);
  image[16] = 2;
  image.writeUInt16LE(rootEntries, 17);
  image.writeUInt16LE(sectors, 19);
  image[21] = 0xf0;
  image.writeUInt16LE(fatSectors, 22);
  // Sectors of a track, heads, mark of what follows, serial number.
  image.writeUInt16LE(18, 24);
  image.writeUInt16LE(2, 26);
  image[38] = 0x29;
  image.writeUInt32LE(0x68_65_64_64, 39);
  image.write('CIDATA     FAT12   ', 43, 'latin1');
  image.writeUInt16LE(0xaa55, 510);
}

/** Twelve bits each: two in three bytes. */
function writeLinks(table: Buffer, links: readonly number[]): void {
  for (const [index, link] of links.entries()) {
    const at = Math.floor(index * 1.5);
    const old = table.readUInt16LE(at);
    table.writeUInt16LE(index % 2 === 0 ? (old & 0xf000) | link : (old & 0x000f) | (link << 4), at);
  }
}

/** The long name, then the entry that it belongs to. */
function writeEntry(
  place: Buffer,
  {
    name,
    short,
    first,
    size,
  }: { readonly name: string; readonly short: string; readonly first: number; readonly size: number },
): void {
  place[0] = 0x41;
  place[11] = 0x0f;
  place[13] = [...Buffer.from(short, 'latin1')].reduce(
    (sum, byte) => (((sum & 1) << 7) + (sum >> 1) + byte) & 0xff,
    0,
  );
  const places = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
  for (const [index, at] of places.entries())
    place.writeUInt16LE(
      index < name.length ? name.charCodeAt(index) : index === name.length ? 0 : 0xffff,
      at,
    );
  const entry = place.subarray(32);
  entry.write(short, 0, 'latin1');
  entry[11] = 0x20;
  entry.writeUInt16LE(first, 26);
  entry.writeUInt32LE(size, 28);
}
