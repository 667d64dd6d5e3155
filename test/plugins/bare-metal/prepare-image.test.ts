import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { findImage, sizeOfImage } from '../../../src/plugins/bare-metal/imaging/image-folder.js';
import {
  prepareImage,
  verifyImage,
  type RawImage,
} from '../../../src/plugins/bare-metal/imaging/prepare-image.js';
import { newFolder } from '../../harness/folder.js';

const content = Buffer.concat([randomBytes(64 * 1024), Buffer.alloc(64 * 1024)]);
const digestOf = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

/** The header alone: what is refused by it is not given to qemu-img. */
function qcow2({ version = 3, backing = 0, features = 0 }): Buffer {
  const header = Buffer.alloc(512);
  header.write('QFI\u00fb', 'latin1');
  header.writeUInt32BE(version, 4);
  header.writeBigUInt64BE(BigInt(backing), 8);
  header.writeBigUInt64BE(BigInt(features), 72);
  return header;
}

const sectors = (data: Buffer): Buffer => Buffer.concat([data, Buffer.alloc(512 - (data.length % 512))]);
const noQemu = spawnSync('qemu-img', ['--version']).status !== 0;

describe('an image in a folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
  });

  /** With all progress, however soon it comes. */
  const prepare = async (name: string, lines: string[] = []): Promise<RawImage> => {
    const { image } = await findImage(folder, name);
    if (image === undefined) throw new Error(`there is no ${name}`);
    return prepareImage(image, join(folder, 'copy'), (text) => lines.push(text), 0);
  };
  const put = (name: string, data: Buffer | string): Promise<void> => writeFile(join(folder, name), data);

  it('is served as it is if it is raw', async () => {
    await put('web@1.raw', content);
    expect(await prepare('web@1')).toEqual({
      file: join(folder, 'web@1.raw'),
      bytes: content.length,
      sha256: digestOf(content),
    });
    expect(await sizeOfImage(folder, 'web@1')).toEqual({ sizeMb: 1 });
  });

  it.each<readonly [what: string, files: Readonly<Record<string, Buffer | string>>, why: RegExp | undefined]>(
    [
      ['a raw image', { 'web@1.raw': content }, undefined],
      ['a packed image', { 'web@1.raw.gz': gzipSync(content) }, undefined],
      ['a cut raw image', { 'web@1.raw': content.subarray(0, 1_000) }, /not a multiple of the sector size/],
      ['a cut packed image', { 'web@1.raw.gz': gzipSync(content).subarray(0, 40_000) }, /cannot be unpacked/],
      ['another checksum', { 'web@1.raw': content, 'web@1.raw.sha256': '0'.repeat(64) }, /SHA-256/],
      ['a file that is not a qcow2', { 'web@1.qcow2': content }, /not an image of format qcow2/],
      ['a qcow2 image named .img', { 'web@1.img': qcow2({}) }, /web@1.img is a qcow2 image/],
      ['a packed image named .raw', { 'web@1.raw': sectors(gzipSync(content)) }, /packed by gzip/],
      [
        'an image packed twice',
        { 'web@1.raw.gz': gzipSync(gzipSync(content)) },
        /content is a file packed by/,
      ],
      ['a packed qcow2 image', { 'web@1.img.gz': gzipSync(qcow2({})) }, /its content is a qcow2 image/],
      ['an image packed by xz', { 'web@1.raw': sectors(Buffer.from('fd377a585a00', 'hex')) }, /packed by xz/],
      ['an image packed by zstd', { 'web@1.raw': sectors(Buffer.from('28b52ffd', 'hex')) }, /packed by zstd/],
    ],
  )('is verified without a copy: %s', async (_what, files, why) => {
    for (const [name, data] of Object.entries(files)) await put(name, data);
    const { image } = await findImage(folder, 'web@1');
    if (image === undefined) throw new Error('there is no image');
    const verified = verifyImage(image, () => undefined, new AbortController().signal);
    if (why === undefined) await verified;
    else await expect(verified).rejects.toThrow(why);
    expect((await readdir(folder)).toSorted()).toEqual(Object.keys(files).toSorted());
  });

  it.skipIf(noQemu).each([
    ['no data', [], /0 bytes/],
    // Only the data say so: the tables are whole.
    ['damaged data', [50_000, 20_000, 10_000], /Input\/output error/],
    ['whole data', [], undefined],
  ] as const)('is verified with all of its compressed data: %s', async (what, flipped, why) => {
    // The same in each run: some damaged data can be unpacked.
    const text = Buffer.concat(
      Array.from({ length: content.length / 32 }, (_, index) =>
        Buffer.from(createHash('sha256').update(String(index)).digest('base64').slice(0, 32)),
      ),
    );
    await put('raw', what === 'no data' ? '' : text);
    execFileSync('qemu-img', ['convert', '-c', '-O', 'qcow2', 'raw', 'web@1.qcow2'], { cwd: folder });
    const file = join(folder, 'web@1.qcow2');
    const data = await readFile(file);
    for (const back of flipped) data.fill(0xff, data.length - back, data.length - back + 2_000);
    await writeFile(file, data);
    expect(spawnSync('qemu-img', ['check', '-q', file]).status).toBe(0);
    const verified = verifyImage({ file, format: 'qcow2' }, () => undefined, new AbortController().signal);
    if (why === undefined) await verified;
    else await expect(verified).rejects.toThrow(why);
  });

  it('is unpacked, with new progress for each part', async () => {
    const large = Buffer.concat([content, Buffer.alloc(3 * 2 ** 20)]);
    await put('web@1.img.gz', gzipSync(large));
    const lines: string[] = [];
    const { file, bytes, sha256 } = await prepare('web@1', lines);
    expect([bytes, sha256]).toEqual([large.length, digestOf(large)]);
    expect((await readFile(file)).equals(large)).toBe(true);
    expect(lines).toEqual(
      expect.arrayContaining(['image: 1 MB unpacked', 'image: 2 MB unpacked', 'image: 3 MB unpacked']),
    );
  });

  it.skipIf(noQemu)('is converted, unless it needs another file', async () => {
    await put('raw', content);
    const convert = (...words: readonly string[]): unknown =>
      execFileSync('qemu-img', words, { cwd: folder, stdio: 'pipe' });
    convert('convert', '-O', 'qcow2', 'raw', 'web@1.qcow2');
    const lines: string[] = [];
    expect(await prepare('web@1', lines)).toMatchObject({ bytes: content.length, sha256: digestOf(content) });
    expect(lines).toContain('image: 100.00 % converted');
    convert('create', '-f', 'qcow2', '-F', 'raw', '-b', 'raw', 'over@1.qcow2');
    await expect(prepare('over@1')).rejects.toThrow(/requires another file, raw/);
    convert('create', '-f', 'qcow2', '-o', 'data_file=elsewhere', 'split@1.qcow2', '1M');
    await expect(prepare('split@1')).rejects.toThrow(/requires an external data file/);
    // Before version 3 there were no such features.
    convert('convert', '-O', 'qcow2', '-o', 'compat=0.10', 'raw', 'old@1.qcow2');
    expect(await prepare('old@1')).toMatchObject({ sha256: digestOf(content) });
  });

  it.each<readonly [title: string, name: string, data: Buffer, sum: string | undefined, message: RegExp]>([
    ['differs from its checksum', 'a@1.raw', content, '0'.repeat(64), /has the SHA-256 .* contains 0{64}/],
    ['has no checksum in its file', 'a@1.raw', content, 'unknown', /does not begin with a SHA-256/],
    ['has no whole sectors', 'a@1.raw', content.subarray(1), undefined, /sector size/],
    ['is empty', 'a@1.raw', Buffer.alloc(0), undefined, /sector size/],
    ['is cut off', 'a@1.raw.gz', gzipSync(content).subarray(0, 2_000), undefined, /cannot be unpacked/],
    ['is not packed', 'a@1.raw.gz', content, undefined, /cannot be unpacked/],
    ['is not qcow2', 'a@1.qcow2', content, undefined, /not an image of format qcow2/],
    [
      'has a later version of qcow2',
      'a@1.qcow2',
      qcow2({ version: 4 }),
      undefined,
      /unsupported qcow2 version 4/,
    ],
    ['has a backing file', 'a@1.qcow2', qcow2({ backing: 104 }), undefined, /requires another file/],
    ['has a data file', 'a@1.qcow2', qcow2({ features: 4 }), undefined, /requires an external data file/],
  ])('is refused if it %s', async (_, name, data, sum, message) => {
    await put(name, data);
    if (sum !== undefined) await put(`${name}.sha256`, `${sum}  ${name}\n`);
    await expect(prepare('a@1')).rejects.toThrow(message);
  });

  it('agrees with the checksum of the stored file', async () => {
    const packed = gzipSync(content);
    await put('web@1.raw.gz', packed);
    await put('web@1.raw.gz.sha256', `${digestOf(packed).toUpperCase()}  web@1.raw.gz\n`);
    expect(await prepare('web@1')).toMatchObject({ sha256: digestOf(content) });
  });

  it('is absent, contradictory, or unknown if the folder is not there', async () => {
    expect(await findImage(folder, 'web@1')).toEqual({ is: 'no' });
    expect(await sizeOfImage(folder, 'web@1')).toMatchObject({
      why: expect.stringContaining('image web@1 does not exist'),
    });
    await put('web@1.raw', content);
    await put('web@1.qcow2', content);
    expect(await findImage(folder, 'web@1')).toMatchObject({
      is: 'unknown',
      why: expect.stringMatching(/web@1\.raw and .*web@1\.qcow2 conflict/),
    });
    expect(await findImage(join(folder, 'none'), 'web@1')).toMatchObject({ is: 'unknown' });
    expect(await findImage(folder, '../web@1')).toEqual({ is: 'no' });
  });
});
