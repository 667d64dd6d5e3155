/** What a machine with the disk prints on its serial port when it has booted. */
export const banner = 'Booted. Type something.\r\n';

/**
 * A disk whose boot sector prints the banner on the first serial port, and then every byte that
 * it reads from it, in angle brackets. An emulated processor boots it within seconds.
 */
export function echoDisk(): Buffer {
  const disk = Buffer.alloc(1_024 * 1_024);
  Buffer.from(
    [
      '31c08ed88ed0bc007cfb', // clears the segments, sets up the stack
      'be467c', // si: the banner, behind the code
      'ac84c07405e82000ebf6', // prints it
      'f4bafd03eca80174f7', // waits for a byte
      'baf803ec50b03ce80b0058e80700b03ee80200ebe2', // prints < the byte >, and waits again
      '88c4bafd03eca82074fbbaf80388e0eec3', // the routine that prints al
    ].join(''),
    'hex',
  ).copy(disk);
  disk.write(`${banner}\0`, 0x46, 'latin1');
  disk.writeUInt16LE(0xaa55, 510);
  return disk;
}
