import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFolderStore, openFolderArchive } from '../../src/store/folder.js';
import { type LogStore, StoreError } from '../../src/store/store.js';

const log = '0b7c/app-2/web.INSTALL.3.log';
const all = { offset: 0, length: 1e6 };
let base: string;
let folder: string;
let store: LogStore;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'heddle-store-'));
  folder = join(base, 'store');
  store = createFolderStore({ folder });
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('a log', () => {
  it('grows at its end, with two writers too', async () => {
    const other = createFolderStore({ folder });
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 === 0 ? store : other).append(log, Buffer.from(`line ${index}\n`)),
      ),
    );
    const lines = (await read(log)).trimEnd().split('\n');
    expect(lines.toSorted((a, b) => a.localeCompare(b))).toEqual(
      Array.from({ length: 40 }, (_, index) => `line ${index}`).toSorted((a, b) => a.localeCompare(b)),
    );
  });

  it('keeps its beginning when it reaches the limit, notes it once, and grows no more', async () => {
    const small = createFolderStore({ folder, logLimit: 10 });
    for (const chunk of ['01234', '56789ABC', 'DEF', 'GHI']) await small.append(log, Buffer.from(chunk));
    expect(await read(log)).toBe('0123456789\n[heddle: this log was cut at 10 bytes]\n');
  });

  it('that ends exactly at the limit does not count as cut until more arrives', async () => {
    const small = createFolderStore({ folder, logLimit: 10 });
    await small.append(log, Buffer.from('0123456789'));
    expect(await read(log)).toBe('0123456789');
    await small.append(log, Buffer.from('A'));
    expect(await read(log)).toContain('cut at 10 bytes');
  });

  it.each([
    '../x/y.log',
    'a/../y.log',
    'a/b/../c.log',
    '/etc/x/y.log',
    'a/b.log',
    'a/b/c/d.log',
    'a/b/c.txt',
    'a/b/.log',
    'a//c.log',
    '.a/b/c.log',
    'a/b/c\0.log',
    'a\\..\\b/c/d.log',
    `a/b/${'c'.repeat(300)}.log`,
    'sha256:abc',
    '',
    'a/b\n/c.log',
    'a/-rf/c.log',
  ])('refuses the name %j and touches nothing', async (name) => {
    await expect(store.append(name, Buffer.from('x'))).rejects.toThrow(StoreError);
    expect(await readdir(base)).toEqual([]);
  });

  it('is found by the uid of its cluster and by its name, and read in ranges', async () => {
    const archive = openFolderArchive(folder);
    expect(await archive.find('0b7c')).toEqual([]);
    await store.append(log, Buffer.from('0123456789'));
    await store.append('0b7c/app-1/web.START.1.log', Buffer.from('x'));
    await store.append('0b7d/app-1/web.START.1.log', Buffer.from('x'));
    expect((await archive.find('0b7c')).map((found) => found.log).toSorted()).toEqual([
      '0b7c/app-1/web.START.1.log',
      log,
    ]);
    expect((await archive.find(log)).map((found) => found.log)).toEqual([log]);
    expect(await archive.find('0b7c/app-2/none.log')).toEqual([]);
    expect(await read(log, { offset: 2, length: 3 })).toBe('234');
    expect(await read(log, { offset: 8, length: 100 })).toBe('89');
    expect(await read(log, { offset: 50, length: 1 })).toBe('');
    await expect(archive.find('../x')).rejects.toThrow(StoreError);
  });

  it('is not written through a link', async () => {
    const target = join(base, 'target');
    await writeFile(target, 'untouched');
    await mkdir(join(folder, 'logs', 'u', 'n'), { recursive: true });
    await symlink(target, join(folder, 'logs', 'u', 'n', 'a.log'));
    await expect(store.append('u/n/a.log', Buffer.from('x'))).rejects.toThrow(/ELOOP|EMLINK/);
    expect(await readFile(target, 'utf8')).toBe('untouched');
  });
});

(process.platform === 'win32' ? describe.skip : describe)('modes', () => {
  it('have modes 0700 and 0600 throughout', async () => {
    await store.append(log, Buffer.from('x'));
    for (const name of await readdir(folder, { recursive: true })) {
      const found = await stat(join(folder, name));
      expect([name, (found.mode & 0o777).toString(8)]).toEqual([name, found.isDirectory() ? '700' : '600']);
    }
  });

  it('that others can access are refused', async () => {
    await mkdir(folder);
    await chmod(folder, 0o755);
    expect(() => createFolderStore({ folder })).toThrow(/is open to others \(mode 755\).*chmod 700/);
  });
});

async function read(prefix: string, { offset, length } = all): Promise<string> {
  const [found] = await openFolderArchive(folder).find(prefix);
  return Buffer.from((await found?.read({ offset, length })) ?? []).toString();
}
