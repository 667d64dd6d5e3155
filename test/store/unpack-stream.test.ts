import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Header, Pax } from 'tar';
import { describe, expect, it } from 'vitest';
import { StreamUnpacker, type Unpacked } from '../../src/store/archive/unpack-stream.js';
import { newFolder } from '../harness/folder.js';

type Type =
  NonNullable<ConstructorParameters<typeof Header>[0]> extends infer Data
    ? Data extends { readonly type?: infer Of }
      ? Of
      : never
    : never;

interface Entry {
  readonly path: string;
  readonly type?: Type;
  readonly text?: string;
  readonly linkpath?: string;
  readonly mode?: number;
}

function entry({ path, type = 'File', text = '', linkpath = '', mode = 0o644 }: Entry): Buffer {
  const bytes = Buffer.from(text);
  const header = Buffer.alloc(512);
  new Header({ path, type, size: bytes.length, linkpath, mode, mtime: new Date(0) }).encode(header);
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

function archiveOf(entries: readonly Entry[]): Buffer {
  return Buffer.concat([...entries.map(entry), Buffer.alloc(1024)]);
}

function unpack(folder: string, entries: readonly Entry[], cutAt?: number): Unpacked {
  return unpackBytes(archiveOf(entries).subarray(0, cutAt), folder);
}

/** A path or a target that needs a header of its own. */
function unpackLong({ path, linkpath }: { readonly path: string; readonly linkpath?: string }): Unpacked {
  const about = linkpath === undefined ? { path } : { path, linkpath };
  const rest = archiveOf([
    linkpath === undefined ? { path: 'short' } : { path: 'short', type: 'SymbolicLink', linkpath: 'short' },
  ]);
  return unpackBytes(Buffer.concat([new Pax(about).encode(), rest]));
}

/** In pieces of any size, as a network delivers them. */
function unpackBytes(archive: Buffer, folder = newFolder()): Unpacked {
  const unpacker = new StreamUnpacker(join(folder, 'new'));
  for (let at = 0; at < archive.length; at += 100) unpacker.write(archive.subarray(at, at + 100));
  return unpacker.end();
}

describe('an archive of a node', () => {
  it('is unpacked with its folders, modes, names of any kind, and hard links', () => {
    const folder = newFolder();
    const done = unpack(folder, [
      { path: './', type: 'Directory', mode: 0o750 },
      { path: 'closed', type: 'Directory', mode: 0o500 },
      { path: 'closed/file', text: '', mode: 0o040 },
      { path: './run', text: 'x'.repeat(2_000), mode: 0o4755 },
      { path: 'a b/n\nl', text: 'newline' },
      { path: 'hard', type: 'Link', linkpath: './run' },
      { path: 'a b/up', type: 'SymbolicLink', linkpath: '../run' },
    ]);
    expect(done).toEqual({ files: 4, bytes: 2_007, skipped: [] });
    expect(readFileSync(join(folder, 'new/a b/n\nl'), 'utf8')).toBe('newline');
    expect(statSync(join(folder, 'new/run')).mode & 0o7777).toBe(0o755);
    expect(
      ['', 'closed', 'closed/file'].map((path) => statSync(join(folder, 'new', path)).mode & 0o7777),
    ).toEqual([0o750, 0o700, 0o640]);
    expect(readFileSync(join(folder, 'new/hard'), 'utf8')).toHaveLength(2_000);
    expect(readlinkSync(join(folder, 'new/a b/up'))).toBe('../run');
  });

  it('loses links that lead out of it, FIFOs and devices, each with a reason', () => {
    const folder = newFolder();
    const { skipped } = unpack(folder, [
      { path: 'out', type: 'SymbolicLink', linkpath: '../../x' },
      { path: 'absolute', type: 'SymbolicLink', linkpath: '/etc/passwd' },
      { path: 'a/b/c/d', type: 'SymbolicLink', linkpath: '../../..' },
      { path: 'l', type: 'SymbolicLink', linkpath: 'a/b/c/d/../../x' },
      { path: 'long', type: 'SymbolicLink', linkpath: `/${'x'.repeat(80)}` },
      { path: 'pipe', type: 'FIFO' },
      { path: 'same pipe', type: 'Link', linkpath: 'pipe' },
      { path: 'disk', type: 'BlockDevice' },
    ]);
    expect(skipped).toEqual([
      '"out" is a link that may lead out of the copied folder, to "../../x"',
      '"absolute" is a link that may lead out of the copied folder, to "/etc/passwd"',
      '"l" is a link that may lead out of the copied folder, to "a/b/c/d/../../x"',
      `"long" is a link that may lead out of the copied folder, to "/${'x'.repeat(80)}"`,
      '"pipe" is of type FIFO',
      '"same pipe" is a hard link to "pipe", which is not copied',
      '"disk" is of type BlockDevice',
    ]);
    expect(readdirSync(join(folder, 'new'))).toEqual(['a']);
    expect(readlinkSync(join(folder, 'new/a/b/c/d'))).toBe('../../..');
  });

  it('names all that it loses, with the beginning of long targets', () => {
    const { skipped } = unpack(
      newFolder(),
      Array.from({ length: 30 }, (_, index) => ({ path: `${index}`, type: 'FIFO' as const })),
    );
    expect(skipped).toHaveLength(30);
    expect(unpackLong({ path: 'a', linkpath: `/${'x'.repeat(3_000)}` }).skipped).toEqual([
      `"a" is a link that may lead out of the copied folder, to "/${'x'.repeat(199)}"`,
    ]);
  });

  it('keeps a second name of a link', () => {
    const folder = newFolder();
    const { skipped } = unpack(folder, [
      { path: 'sub/one', type: 'SymbolicLink', linkpath: '../there' },
      { path: 'sub/two', type: 'Link', linkpath: 'sub/one' },
      { path: 'three', type: 'Link', linkpath: 'sub/one' },
    ]);
    expect(skipped).toEqual(['"three" is a link that may lead out of the copied folder, to "../there"']);
    expect(readlinkSync(join(folder, 'new/sub/two'))).toBe('../there');
  });

  it.each<[string, () => unknown, RegExp]>([
    ['a path of any length', () => unpackLong({ path: 'x/'.repeat(2_500) }), /more than 4096 characters/],
    [
      'a target of any length',
      () => unpackLong({ path: 'a', linkpath: 'x/'.repeat(2_500) }),
      /"a" is a link to a path of more than 4096 characters/,
    ],
    [
      'a header of any length',
      () => unpackLong({ path: 'x'.repeat(70_000) }),
      /a header of \d+ bytes for one entry; the limit is 65536/,
    ],
    ['gzip', () => unpackBytes(gzipSync(archiveOf([{ path: 'a' }]))), /is compressed with gzip/],
    ['zstd', () => unpackBytes(Buffer.from('28b52ffd00000000', 'hex')), /is compressed with zstd/],
    [
      'a file without a name',
      () => unpack(newFolder(), [{ path: '.', text: 'x' }]),
      /is a file without a name/,
    ],
    [
      'a link twice',
      () =>
        unpack(newFolder(), [
          { path: 'a', type: 'SymbolicLink', linkpath: 'b' },
          { path: 'a', type: 'SymbolicLink', linkpath: 'c' },
        ]),
      /"a" occurs twice/,
    ],
  ])('is refused with %s', (_what, act, message) => {
    expect(act).toThrow(message);
  });

  it.each<[string, readonly Entry[], RegExp]>([
    ['by ..', [{ path: 'a/../../evil', text: 'x' }], /leaves the folder by \.\./],
    ['by an absolute path', [{ path: '/tmp/evil', text: 'x' }], /absolute path/],
    [
      'through a link of its own',
      [
        { path: 'sub', type: 'SymbolicLink', linkpath: 'other' },
        { path: 'sub/evil', text: 'x' },
      ],
      /EEXIST/,
    ],
    [
      'by a hard link to a file of this computer',
      [{ path: 'evil', type: 'Link', linkpath: '/etc/passwd' }],
      /absolute/,
    ],
    ['by a hard link out of it', [{ path: 'evil', type: 'Link', linkpath: 'passwd' }], /does not precede it/],
    [
      'over a file that it has written',
      [
        { path: 'a', text: '1' },
        { path: 'a', text: '2' },
      ],
      /EEXIST/,
    ],
  ])('is refused if it would write %s', (_way, entries, message) => {
    const folder = join(newFolder(), 'inner');
    mkdirSync(folder);
    expect(() => unpack(folder, entries)).toThrow(message);
    const found = readdirSync(join(folder, '..'), { encoding: 'utf8', recursive: true });
    expect(found.filter((path) => !/^inner($|\/new($|\/))/.test(path))).toEqual([]);
    expect(existsSync(join(folder, 'new/other'))).toBe(false);
  });

  it('is refused if it is cut off', () => {
    expect(() => unpack(newFolder(), [{ path: 'a', text: 'x'.repeat(600) }], 900)).toThrow(/Truncated/);
    const two = [{ path: 'a' }, { path: 'b' }];
    expect(() => unpack(newFolder(), two, 512)).toThrow(/^is cut off$/);
    const noise = new StreamUnpacker(join(newFolder(), 'new'));
    noise.write(Buffer.from('this is no archive at all'));
    expect(() => noise.end()).toThrow(/is not a valid tar archive/);
  });
});
