import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFolderStore } from '../../src/store/folder.js';
import { StoreError, type Store } from '../../src/store/store.js';

const log = '0b7c/app-2/web.INSTALL.3.log';
const all = { offset: 0, length: 1e6 };
let base: string;
let folder: string;
let store: Store;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'heddle-store-'));
  folder = join(base, 'store');
  store = createFolderStore({ folder });
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('content', () => {
  it('is named by its digest, kept once, and read in ranges', async () => {
    const content = Buffer.from('0123456789');
    const digest = await store.put(content);
    expect(digest).toBe(`sha256:${createHash('sha256').update(content).digest('hex')}`);
    expect(await store.put(content)).toBe(digest);
    expect(await readdir(join(folder, 'sha256', digest.slice(7, 9)))).toHaveLength(1);
    expect(await store.size(digest)).toBe(10);
    expect(text(await store.read(digest, { offset: 2, length: 3 }))).toBe('234');
    expect(text(await store.read(digest, { offset: 8, length: 100 }))).toBe('89');
    expect(text(await store.read(digest, { offset: 50, length: 1 }))).toBe('');
  });

  it('distinguishes absent and empty content', async () => {
    const empty = await store.put(new Uint8Array());
    expect(await store.size(empty)).toBe(0);
    expect(await store.size(`sha256:${'0'.repeat(64)}`)).toBeUndefined();
    await expect(store.read(`sha256:${'0'.repeat(64)}`, all)).rejects.toThrow(/is not in .*store/);
  });

  it('can be put concurrently', async () => {
    const content = Buffer.alloc(100_000, 'x');
    const digests = await Promise.all(Array.from({ length: 10 }, () => store.put(content)));
    expect(new Set(digests).size).toBe(1);
    expect(await store.size(digests[0] ?? '')).toBe(100_000);
    expect(await readdir(dirname(join(folder, 'sha256', digests[0]?.slice(7, 9) ?? '', 'x')))).toHaveLength(
      1,
    );
  });
});

describe('a log', () => {
  it('grows at its end, with two writers too', async () => {
    const other = createFolderStore({ folder });
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 === 0 ? store : other).append(log, Buffer.from(`line ${index}\n`)),
      ),
    );
    const lines = text(await store.read(log, all))
      .trimEnd()
      .split('\n');
    expect(lines.toSorted((a, b) => a.localeCompare(b))).toEqual(
      Array.from({ length: 40 }, (_, index) => `line ${index}`).toSorted((a, b) => a.localeCompare(b)),
    );
    expect(await store.size(log)).toBe(Buffer.byteLength(`${lines.join('\n')}\n`));
  });

  it('keeps its beginning when it reaches the limit, notes it once, and grows no more', async () => {
    const small = createFolderStore({ folder, logLimit: 10 });
    for (const chunk of ['01234', '56789ABC', 'DEF', 'GHI']) await small.append(log, Buffer.from(chunk));
    expect(text(await small.read(log, all))).toBe('0123456789\n[heddle: this log was cut at 10 bytes]\n');
  });

  it('that ends exactly at the limit does not count as cut until more arrives', async () => {
    const small = createFolderStore({ folder, logLimit: 10 });
    await small.append(log, Buffer.from('0123456789'));
    expect(await small.size(log)).toBe(10);
    await small.append(log, Buffer.from('A'));
    expect(text(await small.read(log, all))).toContain('cut at 10 bytes');
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
    await expect(store.read(name, all)).rejects.toThrow(StoreError);
    await expect(store.size(name)).rejects.toThrow(StoreError);
    expect(await readdir(base)).toEqual([]);
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
    await store.put(Buffer.from('y'));
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

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}
