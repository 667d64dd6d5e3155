import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Header, Pax } from 'tar';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkEntries } from '../../../src/store/archive/check.js';
import { archiveLimits, type ArchiveEntry } from '../../../src/store/archive/entry.js';
import { readArchive } from '../../../src/store/archive/read-archive.js';
import { readFolder } from '../../../src/store/archive/read-folder.js';
import { unpackInto } from '../../../src/store/archive/unpack.js';
import { writeArchive } from '../../../src/store/archive/write-archive.js';
import { newFolder } from '../../harness/folder.js';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

interface RawEntry {
  readonly path: string;
  readonly type: string;
  readonly linkpath?: string;
  readonly body?: string;
  readonly size?: number;
}

/** An archive as an attacker writes it: nothing is checked. */
function rawArchive(...entries: readonly RawEntry[]): Buffer {
  const blocks = entries.flatMap(
    ({ path, type, linkpath = '', body = '', size = Buffer.byteLength(body) }) => {
      const data = { path, linkpath, size, mode: 0o644, mtime: new Date(0), type } as ConstructorParameters<
        typeof Pax
      >[0];
      const header = Buffer.alloc(512);
      const long = new Header(data).encode(header);
      const bytes = Buffer.from(body);
      return [
        ...(long ? [new Pax({ path, linkpath }).encode()] : []),
        header,
        bytes,
        Buffer.alloc((512 - (bytes.length % 512)) % 512),
      ];
    },
  );
  return Buffer.concat([...blocks, Buffer.alloc(1_024)]);
}

const file = (path: string, body = 'x'): RawEntry => ({ path, type: 'File', body });
const link = (path: string, linkpath: string): RawEntry => ({ path, type: 'SymbolicLink', linkpath });

describe('an archive', () => {
  it.each<[string, () => Uint8Array, RegExp]>([
    [
      'an absolute path',
      () => rawArchive(file('/etc/cron.d/owned')),
      /"\/etc\/cron.d\/owned" has an absolute path/,
    ],
    ['a path with ..', () => rawArchive(file('a/../../owned')), /leaves the archive by \.\./],
    ['a path with .. that stays inside', () => rawArchive(file('a/../owned')), /leaves the archive by \.\./],
    ['a path of Windows', () => rawArchive(file('C:/owned')), /has an absolute path/],
    ['a backslash', () => rawArchive(file('a\\..\\owned')), /a control character or a backslash/],
    ['a line break in a path', () => rawArchive(file('a\nb')), /a control character/],
    [
      'a very long path',
      () => rawArchive(file(`${'a/'.repeat(40)}${'b'.repeat(1_000)}`)),
      /a path of more than 1000 characters/,
    ],
    ['very deep folders', () => rawArchive(file(`${'a/'.repeat(40)}b`)), /more than 32 folders deep/],
    [
      'a link to an absolute path',
      () => rawArchive(link('passwd', '/etc/passwd')),
      /"passwd" is a link to "\/etc\/passwd"/,
    ],
    [
      'a link out of the archive',
      () => rawArchive(link('a/up', '../../owned')),
      /is a link out of the archive/,
    ],
    [
      'two links that lead out together',
      () =>
        rawArchive(file('q/f'), file('a/b/s'), link('a/b/c/d', '../../../q'), link('l', 'a/b/c/d/../../s')),
      /"l" is a link out of the archive/,
    ],
    ['a link to its own top and on', () => rawArchive(link('up', '..')), /is a link out of the archive/],
    [
      'a file written through a link',
      () => rawArchive(file('b/there'), link('a', 'b'), file('a/owned')),
      /"a\/owned" would be written through the link a/,
    ],
    [
      'a file that takes the place of a link',
      () => rawArchive(file('there'), link('a', 'there'), file('a')),
      /"a" occurs twice/,
    ],
    [
      'a link that takes the place of a file',
      () => rawArchive(file('there'), file('a'), link('a', 'there')),
      /"a" occurs twice/,
    ],
    [
      'a link to a link',
      () => rawArchive(file('there'), link('a', 'there'), link('b', 'a')),
      /is a link to a link/,
    ],
    [
      'a link through a link',
      () => rawArchive(file('d/e/f'), link('a', 'd'), link('b', 'a/e')),
      /is a link (that leads through the link a|to a\/e, which the archive does not contain)/,
    ],
    [
      'a link to nothing',
      () => rawArchive(link('a', 'nowhere')),
      /is a link to nowhere, which the archive does not contain/,
    ],
    ['a file below a file', () => rawArchive(file('a'), file('a/b')), /would be written through the file a/],
    [
      'a hard link',
      () => rawArchive(file('there'), { path: 'a', type: 'Link', linkpath: 'there' }),
      /"a" is a hard link/,
    ],
    [
      'a device',
      () => rawArchive({ path: 'sda', type: 'BlockDevice' }),
      /"sda" is of an unsupported type: BlockDevice/,
    ],
    [
      'a character device',
      () => rawArchive({ path: 'null', type: 'CharacterDevice' }),
      /unsupported type: CharacterDevice/,
    ],
    ['a named pipe', () => rawArchive({ path: 'pipe', type: 'FIFO' }), /unsupported type: FIFO/],
    ['a file twice', () => rawArchive(file('a'), file('./a')), /"a" occurs twice/],
    [
      'too many files',
      () =>
        rawArchive(...Array.from({ length: archiveLimits.entries + 1 }, (_, index) => file(`f${index}`, ''))),
      /more than 10000 files and folders/,
    ],
    [
      'too much',
      () => rawArchive({ path: 'big', type: 'File', body: 'x'.repeat(archiveLimits.bytes + 1) }),
      /contains 16777217 bytes; the limit is 16777216/,
    ],
    ['a bomb', () => gzipSync(Buffer.alloc(60 * 1024 * 1024)), /is larger than 16777216 bytes when unpacked/],
    [
      'a size that the archive does not hold',
      () => rawArchive({ path: 'a', type: 'File', size: 10_000_000, body: 'short' }),
      /is not a valid tar archive/,
    ],
    [
      'half of an archive',
      () => rawArchive(file('a', 'x'.repeat(5_000))).subarray(0, 2_000),
      /is not a valid tar archive/,
    ],
    ['broken gzip', () => gzipSync(rawArchive(file('a'))).subarray(0, 40), /cannot be unpacked/],
    [
      'no archive at all',
      () => Buffer.from('#!/bin/sh\necho hello\n'.repeat(100)),
      /is not a valid tar archive/,
    ],
  ])('with %s is refused', async (_what, make, wrong) => {
    await expect(readArchive(make())).rejects.toThrow(wrong);
  });

  it('is refused before the first file is written, wherever its error is', async () => {
    const entries: readonly ArchiveEntry[] = [
      { path: 'good', kind: 'file', bytes: Buffer.from('x') },
      { path: '../owned', kind: 'file', bytes: Buffer.from('x') },
    ];
    await expect(unpackInto(join(folder, 'out'), entries)).rejects.toThrow(/leaves the archive/);
    expect(existsSync(join(folder, 'owned'))).toBe(false);
    expect(existsSync(join(folder, 'out', 'good'))).toBe(false);
  });

  it('is unpacked to the same folder: contents, modes, links within, long and odd names', async () => {
    const [from, to] = [join(folder, 'from'), join(folder, 'to')];
    const deep = join(from, 'a'.repeat(60), 'b'.repeat(60));
    mkdirSync(deep, { recursive: true });
    writeFileSync(join(deep, 'näme with space'), 'deep');
    writeFileSync(join(from, 'run.sh'), '#!/bin/sh\n');
    chmodSync(join(from, 'run.sh'), 0o755);
    writeFileSync(join(from, '.hidden'), '');
    mkdirSync(join(from, 'empty'));
    mkdirSync(join(from, '.git'));
    writeFileSync(join(from, '.git', 'HEAD'), 'ref');
    symlinkSync('run.sh', join(from, 'link'));
    await unpackInto(to, await readArchive(writeArchive(await readFolder(from))));
    expect(readFileSync(join(to, 'a'.repeat(60), 'b'.repeat(60), 'näme with space'), 'utf8')).toBe('deep');
    expect(statSync(join(to, 'run.sh')).mode & 0o777).toBe(0o700);
    expect(statSync(join(to, '.hidden')).mode & 0o777).toBe(0o600);
    expect(readlinkSync(join(to, 'link'))).toBe('run.sh');
    expect(lstatSync(join(to, 'empty')).isDirectory()).toBe(true);
    expect(existsSync(join(to, '.git'))).toBe(false);
  });

  it('has the same bytes for the same files, packed by a folder, tar, or tar with gzip', async () => {
    const from = join(folder, 'from');
    mkdirSync(join(from, 'b'), { recursive: true });
    for (const name of ['z', 'b/y', 'a']) writeFileSync(join(from, name), name);
    const packed = writeArchive(await readFolder(from));
    execFileSync('tar', ['-C', from, '--sort=name', '-czf', join(folder, 'x.tgz'), '.']);
    execFileSync('tar', ['-C', from, '-cf', join(folder, 'x.tar'), 'z', 'a', 'b']);
    chmodSync(join(from, 'a'), 0o640);
    for (const name of ['x.tgz', 'x.tar'])
      expect(Buffer.compare(writeArchive(await readArchive(readFileSync(join(folder, name)))), packed)).toBe(
        0,
      );
    expect(Buffer.compare(writeArchive(await readFolder(from)), packed)).toBe(0);
    expect(execFileSync('tar', ['-tf', '-'], { input: packed, encoding: 'utf8' })).toBe('a\nb/\nb/y\nz\n');
  });

  it('gives all files the requested permissions', async () => {
    await unpackInto(
      join(folder, 'keys'),
      [{ path: 'id', kind: 'file', executable: true, bytes: Buffer.from('key') }],
      0o400,
    );
    expect(statSync(join(folder, 'keys', 'id')).mode & 0o777).toBe(0o400);
  });

  it('of a folder with a pipe is refused', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    await expect(readFolder(folder)).rejects.toThrow(/"pipe" is neither a file nor a folder nor a link/);
  });

  it('may name a folder twice, and itself', () => {
    expect(
      checkEntries([
        { path: './', kind: 'folder' },
        { path: 'a/', kind: 'folder' },
        { path: 'a', kind: 'folder' },
      ]).map(({ path }) => path),
    ).toEqual(['a']);
  });
});
