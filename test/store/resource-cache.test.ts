import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PinnedResource } from '../../src/model/artifact/reference.js';
import { writeArchive } from '../../src/store/archive/write-archive.js';
import { pretendForeign } from '../harness/foreign.js';
import { createResourceCache, type ResourceCache } from '../../src/store/resource-cache.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let contents: Record<string, Uint8Array>;
let fetched: string[];
beforeEach(() => {
  folder = newFolder();
  contents = {};
  fetched = [];
});

function open(): ResourceCache {
  return createResourceCache({
    folder: join(folder, 'resources'),
    fetch: (digest) => {
      fetched.push(digest);
      const bytes = contents[digest];
      return bytes === undefined ? Promise.reject(new Error('not there')) : Promise.resolve(bytes);
    },
  });
}

function have(resource: string, format: 'file' | 'archive', bytes: Uint8Array): PinnedResource {
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  contents[digest] = bytes;
  return { resource, version: 1, digest, format };
}

it('fetches a content once, for all concurrent and later requests', async () => {
  const cache = open();
  const key = have('key', 'file', Buffer.from('secret'));
  const places = await Promise.all([cache.get(key, 0o400), cache.get(key, 0o400), open().get(key, 0o400)]);
  expect(new Set(places.map(({ path }) => path)).size).toBe(1);
  expect(readFileSync(places[0]?.path ?? '', 'utf8')).toBe('secret');
  expect(statSync(places[0]?.path ?? '').mode & 0o777).toBe(0o400);
  await open().get(key, 0o400);
  expect(fetched).toHaveLength(2);
  expect(readdirSync(join(folder, 'resources'))).toHaveLength(1);
});

it('unpacks an archive beside the archive itself, once for each set of permissions', async () => {
  const bytes = writeArchive([{ path: 'bin/run', kind: 'file', executable: true, bytes: Buffer.from('x') }]);
  const scripts = have('scripts', 'archive', bytes);
  const one = await open().get(scripts);
  const other = await open().get(scripts, 0o444);
  expect(statSync(join(one.path, 'bin', 'run')).mode & 0o777).toBe(0o700);
  expect(statSync(join(other.path, 'bin', 'run')).mode & 0o777).toBe(0o444);
  expect(Buffer.compare(readFileSync(one.archive ?? ''), bytes)).toBe(0);
});

it('leaves nothing of a failed fetch or unpacking, and tries again', async () => {
  const cache = open();
  const bad = have('bad', 'archive', Buffer.from('no archive'.repeat(100)));
  await expect(cache.get(bad)).rejects.toThrow(/is not a valid tar archive/);
  await expect(cache.get({ ...bad, digest: `sha256:${'0'.repeat(64)}` })).rejects.toThrow('not there');
  expect(readdirSync(join(folder, 'resources'))).toEqual([]);
  const late = have('late', 'file', Buffer.from('here'));
  const bytes = contents[late.digest] ?? new Uint8Array();
  delete contents[late.digest];
  await expect(cache.get(late)).rejects.toThrow('not there');
  contents[late.digest] = bytes;
  expect(readFileSync((await cache.get(late)).path, 'utf8')).toBe('here');
});

it('removes what was unused for a month, and what was left unfinished an hour ago', async () => {
  const cache = open();
  const { path: kept } = await cache.get(have('kept', 'file', Buffer.from('a')));
  const { path: old } = await cache.get(have('old', 'file', Buffer.from('b')));
  const half = join(folder, 'resources', '.half');
  mkdirSync(half);
  const fresh = join(folder, 'resources', '.fresh');
  mkdirSync(fresh);
  const ago = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
  utimesSync(join(old, '..'), ago(31 * 24), ago(31 * 24));
  utimesSync(half, ago(2), ago(2));
  await cache.clear();
  expect(new Set(readdirSync(join(folder, 'resources')))).toEqual(
    new Set(['.fresh', kept.split('/').at(-2)]),
  );
  await createResourceCache({
    folder: join(folder, 'none'),
    fetch: () => Promise.reject(new Error()),
  }).clear();
});

describe('a resource that was changed on disk', () => {
  const entries = [
    { path: 'bin/run', kind: 'file', executable: true, bytes: Buffer.from('run') },
    { path: 'bin/again', kind: 'link', target: 'run' },
    { path: 'empty', kind: 'folder' },
  ] as const;

  it.each([
    ['other content', (files: string) => writeFileSync(join(files, 'bin', 'run'), 'rm!')],
    ['a longer file', (files: string) => appendFileSync(join(files, 'bin', 'run'), 'more')],
    ['a file more', (files: string) => writeFileSync(join(files, 'bin', 'planted'), '')],
    ['a file more in an empty folder', (files: string) => writeFileSync(join(files, 'empty', 'planted'), '')],
    ['a file less', (files: string) => rmSync(join(files, 'bin', 'run'))],
    [
      'a link in the place of a file',
      (files: string) => {
        rmSync(join(files, 'bin', 'run'));
        symlinkSync('/bin/sh', join(files, 'bin', 'run'));
      },
    ],
    [
      'a link that leads elsewhere',
      (files: string) => {
        rmSync(join(files, 'bin', 'again'));
        symlinkSync('/bin/sh', join(files, 'bin', 'again'));
      },
    ],
    ['another archive', (files: string) => writeFileSync(join(files, '..', 'archive.tar'), 'x')],
    ['a file beside the archive', (files: string) => writeFileSync(join(files, '..', 'planted'), '')],
    ['a folder that others may write', (files: string) => chmodSync(join(files, '..'), 0o777)],
  ])('is fetched anew when it has %s', async (_, change) => {
    const bytes = writeArchive(entries);
    const scripts = have('scripts', 'archive', bytes);
    const { path } = await open().get(scripts);
    expect(fetched).toHaveLength(1);
    await open().get(scripts);
    expect(fetched).toHaveLength(1);
    change(path);
    const again = await open().get(scripts);
    expect(fetched).toHaveLength(2);
    expect(again.path).toBe(path);
    expect(readdirSync(path, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual([
      'bin',
      'bin/again',
      'bin/run',
      'empty',
    ]);
    expect(readFileSync(join(path, 'bin', 'run'), 'utf8')).toBe('run');
    expect(Buffer.compare(readFileSync(again.archive ?? ''), bytes)).toBe(0);
  });

  it('is fetched again if a file was replaced or planted', async () => {
    const key = have('key', 'file', Buffer.from('secret'));
    const { path } = await open().get(key);
    writeFileSync(path, 'planted');
    expect(readFileSync((await open().get(key)).path, 'utf8')).toBe('secret');
    const other = have('other', 'file', Buffer.from('other secret'));
    const planted = join(folder, 'resources', `${other.digest.slice('sha256:'.length)}-file-other`);
    mkdirSync(planted, { mode: 0o700 });
    writeFileSync(join(planted, 'other'), 'planted');
    expect(readFileSync((await open().get(other)).path, 'utf8')).toBe('other secret');
  });

  // Promise: resource-cache
  it('is not taken from a folder that others may write or that belongs to another user', async () => {
    const key = have('key', 'file', Buffer.from('secret'));
    mkdirSync(join(folder, 'resources'));
    chmodSync(join(folder, 'resources'), 0o770);
    await expect(open().get(key)).rejects.toThrow(/is accessible to other users \(mode 770\).*chmod go=/);
    chmodSync(join(folder, 'resources'), 0o700);
    const restore = pretendForeign(join(folder, 'resources'));
    await expect(open().get(key))
      .rejects.toThrow(/belongs to user \d+, not to user \d+/)
      .finally(restore);
    expect(fetched).toEqual([]);
  });

  it('is refused if the fetched content has another digest', async () => {
    const key = have('key', 'file', Buffer.from('secret'));
    contents[key.digest] = Buffer.from('something else');
    await expect(open().get(key)).rejects.toThrow('does not match its digest');
    expect(readdirSync(join(folder, 'resources'))).toEqual([]);
  });
});
