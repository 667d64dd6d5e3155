import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { runProgram } from '../../../config/run-program.js';
import { hasErrorCode } from '../../../model/system-error.js';
import { openFile, readRegularFile, refuseSpecial } from '../../trusted-file.js';
import { readQcow2, type Qcow2 } from '../../provider-base/qcow2.js';
import type { ImageFile } from './image-folder.js';

/** The content written to the disk, byte for byte. */
export interface RawImage {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

const sector = 512;
/** A load without progress is ended, and a large image takes many minutes. */
const progressMs = 5_000;

/**
 * The image as a raw file: the stored file itself, or a copy at `copy`. If a file NAME.sha256 (as sha256sum
 * writes it) exists next to it, the checksum must match.
 * @throws Error if the image cannot be written.
 */
export async function prepareImage(
  { file, format }: ImageFile,
  copy: string,
  progress: (text: string) => void,
  everyMs = progressMs,
): Promise<RawImage> {
  const report = paced(progress, everyMs);
  const stored = await checkStored({ file, format }, report);
  if (format === 'gzip') await unpack(file, createWriteStream(copy, { mode: 0o600 }), report);
  if (format === 'qcow2') await convert(file, copy, report);
  const raw = format === 'raw' ? file : copy;
  const { size: bytes } = await stat(raw);
  requireSectors(file, bytes);
  const sha256 = format === 'raw' ? (stored ?? '') : await digest(raw, 'unpacked image', report);
  return { file: raw, bytes, sha256 };
}

/**
 * Reads the image like `prepareImage` without keeping a copy.
 * @throws Error if the image cannot be written.
 */
export async function verifyImage(
  { file, format }: ImageFile,
  progress: (text: string) => void,
  signal: AbortSignal,
  everyMs = progressMs,
): Promise<void> {
  const report = paced((text) => {
    signal.throwIfAborted();
    progress(text);
  }, everyMs);
  await checkStored({ file, format }, report);
  signal.throwIfAborted();
  if (format === 'raw') requireSectors(file, (await stat(file)).size);
  if (format === 'gzip') {
    const nowhere = new Writable({ write: (_chunk, _encoding, written) => written() });
    requireSectors(file, await unpack(file, nowhere, report));
  }
  // A listener must not throw; the signal ends qemu-img.
  if (format === 'qcow2') await readAll(file, paced(progress, everyMs), signal);
}

/** The digest of the stored file, if it was read for its checksum or is written unchanged. */
async function checkStored({ file, format }: ImageFile, report: Report): Promise<string | undefined> {
  refuseSpecial(file);
  if (format === 'raw') refuseOtherFormat(file, await firstBytes(file));
  const expected = await readExpected(file);
  const stored =
    expected === undefined && format !== 'raw' ? undefined : await digest(file, 'stored image', report);
  if (expected !== undefined && stored !== expected)
    throw new Error(`${file} has the SHA-256 ${stored}, but ${file}.sha256 contains ${expected}`);
  return stored;
}

function requireSectors(file: string, bytes: number): void {
  if (bytes === 0 || bytes % sector !== 0)
    throw new Error(`${file} has ${bytes} bytes, which is not a multiple of the sector size`);
}

async function readExpected(file: string): Promise<string | undefined> {
  const written = await readRegularFile(`${file}.sha256`).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (written === undefined) return undefined;
  const found = /^([0-9a-fA-F]{64})\b/.exec(written)?.[1];
  if (found === undefined) throw new Error(`${file}.sha256 does not begin with a SHA-256`);
  return found.toLowerCase();
}

/** First bytes of files with a disk in another format. No raw disk begins with them. */
const otherFormats: Readonly<Record<string, readonly string[]>> = {
  'a qcow2 image': ['QFI\u00fb'],
  'an image of format vmdk': ['KDMV', 'COWD', '# Disk DescriptorFile'],
  'an image of format vhdx': ['vhdxfile'],
  'an image of format vhd': ['conectix'],
  'an image of format vdi': ['<<< '],
  'a file packed by gzip': ['\u001f\u008b\u0008'],
  'a file packed by xz': ['\u00fd7zXZ\0'],
  'a file packed by zstd': ['(\u00b5/\u00fd'],
  'a file packed by bzip2': ['BZh'],
  'a file packed by lz4': ['\u0004"M\u0018'],
  'a zip archive': ['PK\u0003\u0004'],
};

/**
 * Files named .img often have another format. Written unchanged, such a file would leave the machine without
 * a system.
 * @throws Error
 */
function refuseOtherFormat(what: string, head: Buffer): void {
  const text = head.toString('latin1', 0, sector);
  const other = Object.keys(otherFormats).find((name) =>
    otherFormats[name]?.some((start) => text.startsWith(start)),
  );
  if (other !== undefined) throw new Error(`${what} is ${other}, but its name says that it is a raw disk`);
}

async function firstBytes(file: string): Promise<Buffer> {
  const handle = await openFile(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(sector), 0, sector, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

type Report = (text: () => string) => void;

function paced(progress: (text: string) => void, everyMs: number): Report {
  let reportedAt = Date.now();
  return (text) => {
    if (Date.now() - reportedAt < everyMs) return;
    reportedAt = Date.now();
    progress(text());
  };
}

async function digest(file: string, what: string, report: Report): Promise<string> {
  const hash = createHash('sha256');
  let read = 0;
  const stream = (await openFile(file)).createReadStream({ highWaterMark: 2 ** 20 });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    hash.update(chunk);
    read += chunk.length;
    report(() => `${what}: ${Math.floor(read / 2 ** 20)} MB checked`);
  }
  return hash.digest('hex');
}

/** Returns the number of bytes. */
async function unpack(file: string, target: Writable, report: Report): Promise<number> {
  let written = 0;
  async function* counted(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of chunks) {
      if (written === 0) refuseOtherFormat('its content', chunk);
      written += chunk.length;
      report(() => `image: ${Math.floor(written / 2 ** 20)} MB unpacked`);
      yield chunk;
    }
  }
  try {
    await pipeline(
      (await openFile(file)).createReadStream(),
      createGunzip({ chunkSize: 2 ** 20 }),
      counted,
      target,
    );
    return written;
  } catch (error) {
    throw new Error(`${file} cannot be unpacked: ${(error as Error).message}`, { cause: error });
  }
}

async function convert(file: string, copy: string, report: Report): Promise<void> {
  await refuseOtherFiles(file);
  const listen = percentOf((percent) => report(() => `image: ${percent} % converted`));
  await qemuImg(['convert', '-p', '-f', 'qcow2', '-O', 'raw', file, copy], { listen });
}

/**
 * `check` reads the tables and the file's length; the conversion reads everything that the tables refer to.
 */
async function readAll(file: string, report: Report, signal: AbortSignal): Promise<void> {
  const { capacity } = await refuseOtherFiles(file);
  requireSectors(file, capacity);
  await qemuImg(['check', '-q', '-f', 'qcow2', file], { signal, leaks: true });
  const nowhere = `driver=null-co,size=${capacity}`;
  const listen = percentOf((percent) => report(() => `image: ${percent} % read`));
  await qemuImg(
    ['convert', '-p', '-n', '--target-is-zero', '-f', 'qcow2', '--target-image-opts', file, nowhere],
    { signal, listen },
  );
}

function percentOf(progress: (percent: string) => void): (printed: string) => void {
  return (printed) => {
    // A fast conversion prints all of its progress at once.
    const percent = [...printed.matchAll(/([\d.]+)\/100%/g)].at(-1)?.[1];
    if (percent !== undefined) progress(percent);
  };
}

/**
 * An image with a backing file or an external data file could read any file of this host, so it is rejected
 * before qemu-img opens it.
 * @throws Error
 */
async function refuseOtherFiles(file: string): Promise<Qcow2> {
  const name = basename(file);
  const header = await readQcow2(file);
  if (header === undefined) throw new Error(`${name} is not an image of format qcow2`);
  const { version, backing, hasDataFile } = header;
  if (version !== 2 && version !== 3) throw new Error(`${name} has the unsupported qcow2 version ${version}`);
  if (backing !== undefined) throw new Error(`${name} requires another file, ${backing}`);
  if (hasDataFile) throw new Error(`${name} requires an external data file`);
  return header;
}

interface QemuImgOptions {
  readonly listen?: (printed: string) => void;
  readonly signal?: AbortSignal;
  /** Unused blocks are not an error. */
  readonly leaks?: true;
}

/** Exit code of `qemu-img check` if the only fault is leaked blocks. */
const leaksCode = 3;

async function qemuImg(words: readonly string[], { listen, signal, leaks }: QemuImgOptions): Promise<void> {
  const { failure } = await runProgram('qemu-img', words, { signal, listen });
  if (failure === undefined) return;
  signal?.throwIfAborted();
  const { code, cause } = failure;
  if (leaks === true && code === leaksCode) return;
  throw code === 'ENOENT'
    ? new Error('qcow2 needs qemu-img, which is not installed on this worker host (package qemu-utils)')
    : new Error(`the image cannot be converted: ${cause.message}`, { cause });
}
