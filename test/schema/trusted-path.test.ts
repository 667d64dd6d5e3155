import fs, { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { whyUntrusted } from '../../src/schema/trusted-path.js';
import { pretendForeign } from '../harness/foreign.js';
import { newFolder } from '../harness/folder.js';

/** In the eyes of this process. The function that it returns takes that back. */
function pretendReadOnly(path: string): () => void {
  const { accessSync } = fs;
  const spy = vi.spyOn(fs, 'accessSync').mockImplementation((asked, mode) => {
    if (asked === path) throw Object.assign(new Error('read-only file system'), { code: 'EROFS' });
    accessSync(asked, mode);
  });
  syncBuiltinESMExports();
  return () => {
    spy.mockRestore();
    syncBuiltinESMExports();
  };
}

describe('the owner check of a path', () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
  });

  const make = (name: string, mode = 0o755): string => {
    mkdirSync(join(folder, name), { recursive: true });
    chmodSync(join(folder, name), mode);
    return join(folder, name);
  };
  const file = (name: string): string => {
    writeFileSync(join(folder, name), '');
    return join(folder, name);
  };
  const link = (name: string, target: string): string => {
    symlinkSync(target, join(folder, name));
    return join(folder, name);
  };
  const wrong = (path: string): string | undefined => {
    const distrust = whyUntrusted(path);
    return distrust && `${distrust.path} ${distrust.wrong}`;
  };

  // Promise: foreign-files
  it('refuses each folder that holds a link on the way, wherever the link leads', () => {
    make('safe');
    file('safe/file');
    const open = make('open');
    link('open/absolute', join(folder, 'safe'));
    link('open/relative', '../safe');
    link('open/file', join(folder, 'safe/file'));
    link('to-open', join(folder, 'open/relative'));
    const named = ['open/absolute/file', 'open/relative/file', 'open/file', 'to-open/file'];
    const all = (): readonly unknown[] => named.map((name) => wrong(join(folder, name)));
    expect(all()).toEqual(named.map(() => undefined));
    chmodSync(open, 0o777);
    expect(all()).toEqual(named.map(() => `${open} may be written by other users (mode 777)`));
    chmodSync(open, 0o755);
    const restore = pretendForeign(open);
    try {
      expect(all()).toEqual(named.map(() => expect.stringMatching(/ belongs to user \d+, neither to user/)));
    } finally {
      restore();
    }
  });

  it('follows ".." as the system does, from the target of a link', () => {
    make('far/inner', 0o755);
    file('far/file');
    file('file');
    link('link', 'far/inner');
    chmodSync(join(folder, 'far/file'), 0o666);
    expect(wrong(`${folder}/link/../file`)).toBe(
      `${join(folder, 'far/file')} may be written by other users (mode 666)`,
    );
  });

  it('ends for links in a circle', () => {
    link('one', 'two');
    link('two', 'one');
    expect(wrong(join(folder, 'one'))).toBeUndefined();
  });

  it('takes files on a file system that is mounted read-only as written by nobody', () => {
    const mounted = make('mounted', 0o777);
    const named = file('mounted/file');
    expect(wrong(named)).toBe(`${mounted} may be written by other users (mode 777)`);
    const makeWritable = pretendReadOnly(mounted);
    try {
      expect(wrong(named)).toBeUndefined();
      const restore = pretendForeign(mounted);
      expect(wrong(named)).toMatch(/ belongs to user/);
      restore();
    } finally {
      makeWritable();
    }
  });

  it('says of an absent file that other users could create it, and advises no change of their folder', () => {
    const absent = join(make('shared', 0o1777), 'agent');
    expect(whyUntrusted(absent)).toEqual({
      path: absent,
      wrong: 'does not exist, and other users could create it',
      right: `Create it, or specify a file outside of ${join(folder, 'shared')}`,
      isAbsent: true,
    });
    expect(wrong(link('dangling', absent))).toBe(`${absent} does not exist, and other users could create it`);
    chmodSync(join(folder, 'shared'), 0o777);
    expect(wrong(absent)).toBe(`${join(folder, 'shared')} may be written by other users (mode 777)`);
    chmodSync(join(folder, 'shared'), 0o1755);
    expect(wrong(absent)).toBeUndefined();
  });

  it('advises for a shared folder with the sticky bit to name another', () => {
    const shared = make('shared', 0o1777);
    expect(wrong(file('shared/own'))).toBeUndefined();
    expect(whyUntrusted(shared)).toMatchObject({ path: shared, right: 'Specify another folder' });
  });

  it('advises to change the owner of the file itself only', () => {
    const named = file('named');
    const restoreFile = pretendForeign(named);
    expect(whyUntrusted(named)?.right).toMatch(/^If you trust it: chown '\d+' '.*named'$/);
    restoreFile();
    const restoreFolder = pretendForeign(folder);
    expect(whyUntrusted(join(folder, 'absent'))?.right).toMatch(
      /^Move the file to another folder, or run as user \d+$/,
    );
    restoreFolder();
  });

  it('does not judge the mode of a socket, which says who may connect', async () => {
    const socket = join(folder, 'socket');
    const server = createServer().listen(socket);
    await new Promise((resolve) => server.once('listening', resolve));
    chmodSync(socket, 0o777);
    expect(wrong(socket)).toBeUndefined();
    await new Promise((resolve) => server.close(resolve));
  });
});
