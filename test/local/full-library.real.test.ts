import { spawnSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Library } from '../../src/local/image/library.js';
import { newFolder } from '../harness/folder.js';

const megabyte = 2 ** 20;
const facts = { kind: 'directory', base: 'host', token: 'token', tags: {} } as const;

const probe = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', '/mnt']);

describe.skipIf(probe.status !== 0)('a library of images whose file system is full', () => {
  let folder: string;
  let disks: string;
  let library: Library;
  beforeAll(async () => {
    folder = newFolder();
    disks = newFolder();
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'none', folder]).status).toBe(0);
    library = new Library(folder);
    for (const [name, size] of [
      ['small', 1],
      ['large', 8],
    ] as const) {
      await mkdir(join(disks, name));
      // The first file fits.
      await writeFile(join(disks, name, 'a'), 'fits');
      await writeFile(join(disks, name, 'b'), Buffer.alloc(size * megabyte, 1));
    }
  });
  afterAll(() => {
    spawnSync('umount', [folder]);
  });

  it('keeps nothing of a capture that does not fit, and captures what fits', async () => {
    await expect(library.capture(join(disks, 'large'), { ...facts, image: 'large@1' })).rejects.toThrow(
      'ENOSPC',
    );
    expect(await readdir(library.folder)).toEqual([]);
    await library.capture(join(disks, 'small'), { ...facts, image: 'small@1' });
    expect(await readdir(library.folder)).toEqual(['small@1']);
    expect(library.names()).toEqual(['host', 'small@1']);
  });

  it('keeps nothing of an upload that does not fit', async () => {
    await mkdir(join(disks, 'sent'));
    spawnSync('cp', ['-r', join(disks, 'large'), join(disks, 'sent', 'files')]);
    const { stdout } = spawnSync('tar', ['-C', join(disks, 'sent'), '-cf', '-', 'files'], {
      maxBuffer: 16 * megabyte,
    });
    await expect(library.receive('sent@1', Readable.from([stdout]), false)).rejects.toThrow(/space|unpack/);
    expect(await readdir(library.folder)).toEqual(['small@1']);
  });
});
