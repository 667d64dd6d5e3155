// @ts-check
import { inflateRawSync } from 'node:zlib';

/**
 * The content of one file in a zip archive, by its name there. Enough for a Python wheel: no encryption, no
 * zip64.
 * @param {Buffer} archive
 * @param {string} name
 * @returns {Buffer}
 */
export function extractMember(archive, name) {
  const end = archive.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  if (end < 0) throw new Error('it is not a zip archive');
  let entry = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) =>
      archive.readUInt16LE(entry + offset),
    );
    const entryName = archive.toString('utf8', entry + 46, entry + 46 + Number(nameLength));
    if (entryName === name) return contentOf(archive, entry);
    entry += 46 + Number(nameLength) + Number(extraLength) + Number(commentLength);
  }
  throw new Error(`the archive holds no ${name}`);
}

/** @param {Buffer} archive @param {number} entry where the entry of the central directory begins */
function contentOf(archive, entry) {
  const method = archive.readUInt16LE(entry + 10);
  const packedSize = archive.readUInt32LE(entry + 20);
  const local = archive.readUInt32LE(entry + 42);
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
  const packed = archive.subarray(start, start + packedSize);
  if (method !== 0 && method !== 8)
    throw new Error(`the archive is packed by method ${method}, which is not known here`);
  const content = method === 0 ? packed : inflateRawSync(packed);
  if (content.length !== archive.readUInt32LE(entry + 24))
    throw new Error('the archive is damaged: a size does not agree');
  return content;
}
