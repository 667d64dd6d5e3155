import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createFolderStore, openFolderArchive } from '../../src/store/folder.js';
import { currentPath, dayOf, type LogScope, type LogStore, StoreError } from '../../src/store/store.js';
import { newFolder } from '../harness/folder.js';

const log = '0b7c/app-2/web.INSTALL.3.log';
const all = { offset: 0, length: 1e6 };
let base: string;
let folder: string;
let store: LogStore;

beforeEach(async () => {
  base = newFolder();
  folder = join(base, 'store');
  store = createFolderStore({ folder });
});

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

  it('is found by cluster, day, node and the beginning of its name, and read in ranges', async () => {
    const archive = openFolderArchive(folder);
    expect(await archive.find({ clusterUid: '0b7c', day: today() })).toEqual([]);
    await store.append(log, Buffer.from('0123456789'));
    await store.append('0b7c/app-1/web.START.1.log', Buffer.from('x'));
    await store.append('0b7c/app-1/web2.START.1.log', Buffer.from('x'));
    await store.append('0b7d/app-1/web.START.1.log', Buffer.from('x'));
    const find = async (scope: Partial<LogScope>) =>
      (await archive.find({ clusterUid: '0b7c', day: today(), ...scope }))
        .map((found) => found.log)
        .toSorted();
    const ofNode = ['0b7c/app-1/web.START.1.log', '0b7c/app-1/web2.START.1.log'];
    expect(await find({})).toEqual([...ofNode, log]);
    expect(await find({ nodeId: 'app-1' })).toEqual(ofNode);
    expect(await find({ file: 'web.' })).toEqual([ofNode[0], log]);
    expect(await find({ nodeId: 'app-2', file: 'web.INSTALL.3.log' })).toEqual([log]);
    expect(await find({ nodeId: 'app-2', file: 'none.log' })).toEqual([]);
    expect(await find({ day: '2020-02-02' })).toEqual([]);
    expect(await read(log, { offset: 2, length: 3 })).toBe('234');
    expect(await read(log, { offset: 8, length: 100 })).toBe('89');
    expect(await read(log, { offset: 50, length: 1 })).toBe('');
    for (const scope of [{ clusterUid: '../x' }, { day: '..' }, { nodeId: '../../x' }])
      await expect(find(scope)).rejects.toThrow(StoreError);
    await expect(archive.days('..')).rejects.toThrow(StoreError);
  });

  it('continues in a folder of the next day', async () => {
    vi.useFakeTimers({ now: Date.parse('2026-11-27T23:59:59Z'), toFake: ['Date'] });
    try {
      await store.append(log, Buffer.from('before\n'));
      vi.setSystemTime(Date.parse('2026-11-28T00:00:01Z'));
      await store.append(log, Buffer.from('after\n'));
    } finally {
      vi.useRealTimers();
    }
    const archive = openFolderArchive(folder);
    await mkdir(join(folder, 'logs', '0b7c', 'other'));
    expect(await archive.days('0b7c')).toEqual(['2026-11-27', '2026-11-28']);
    for (const [day, text] of [
      ['2026-11-27', 'before\n'],
      ['2026-11-28', 'after\n'],
    ] as const) {
      const [found] = await archive.find({ clusterUid: '0b7c', day });
      expect(Buffer.from((await found?.read(all)) ?? []).toString()).toBe(text);
    }
  });

  it('is not written through a link', async () => {
    const target = join(base, 'target');
    await writeFile(target, 'untouched');
    const file = join(folder, 'logs', currentPath('u/n/a.log'));
    await mkdir(dirname(file), { recursive: true });
    await symlink(target, file);
    await expect(store.append('u/n/a.log', Buffer.from('x'))).rejects.toThrow(/ELOOP|EMLINK/);
    expect(await readFile(target, 'utf8')).toBe('untouched');
  });
});

(process.platform === 'win32' ? describe.skip : describe)('modes', () => {
  it('folders have mode 0700 and files 0600', async () => {
    await store.append(log, Buffer.from('x'));
    for (const name of await readdir(folder, { recursive: true })) {
      const found = await stat(join(folder, name));
      expect([name, (found.mode & 0o777).toString(8)]).toEqual([name, found.isDirectory() ? '700' : '600']);
    }
  });

  it('that others can access are refused', async () => {
    await mkdir(folder);
    await chmod(folder, 0o755);
    expect(() => createFolderStore({ folder })).toThrow(
      /is accessible to other users \(mode 755\).*chmod go=/,
    );
  });
});

const today = (): string => dayOf(Date.now());

async function read(name: string, { offset, length } = all): Promise<string> {
  const [clusterUid = '', nodeId = '', file = ''] = name.split('/');
  const [found] = await openFolderArchive(folder).find({ clusterUid, day: today(), nodeId, file });
  return Buffer.from((await found?.read({ offset, length })) ?? []).toString();
}
