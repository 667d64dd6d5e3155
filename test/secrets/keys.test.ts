import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { chmod, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { generateKey } from '../../src/secrets/key-document.js';
import { createKeyFolder, updateKeyFolder } from '../../src/secrets/key-folder.js';
import {
  addKey,
  createKeys,
  exportKeys,
  importKeys,
  KeyError,
  openKeyRing,
  parseKeyRing,
  rotateKeys,
  useKey,
} from '../../src/secrets/keys.js';
import { newFolder } from '../harness/folder.js';

const modes = process.platform === 'win32' ? describe.skip : describe;
let base: string;
let folder: string;

beforeEach(async () => {
  base = newFolder();
  folder = join(base, 'keys');
});

describe('openKeyRing', () => {
  it('creates no key unless it is told to, and names both remedies', () => {
    expect(() => openKeyRing({ folder, create: false })).toThrow(/heddle keys import.*heddle keys create/);
  });

  it('creates one key if it may, and opens the same one the next time', () => {
    const first = openKeyRing({ folder, create: true }).list();
    expect(first).toHaveLength(1);
    expect(openKeyRing({ folder, create: true }).list()).toEqual(first);
    expect(openKeyRing({ folder, create: false }).list()).toEqual(first);
  });

  it('uses the key of another process that was first', () => {
    const [mine, theirs] = [generateKey(), generateKey()];
    expect(createKeyFolder(folder, { current: theirs.id, keys: [theirs] })).toBe(true);
    expect(createKeyFolder(folder, { current: mine.id, keys: [mine] })).toBe(false);
    expect(
      openKeyRing({ folder, create: true })
        .list()
        .map((key) => key.id),
    ).toEqual([theirs.id]);
  });

  it('finds a key that was added while it is open, and encrypts with a rotated one', async () => {
    createKeys(folder);
    const patient = openKeyRing({ folder, create: false });
    const eager = openKeyRing({ folder, create: false, recheckMs: 0 });
    const old = patient.current().id;
    const rotated = await rotateKeys(folder);
    expect(patient.find(rotated).id).toBe(rotated);
    expect(eager.current().id).toBe(rotated);
    expect(eager.find(old).id).toBe(old);
  });

  it('continues with known keys when the folder disappears', async () => {
    const ring = openKeyRing({ folder, create: true, recheckMs: 0 });
    const { id } = ring.current();
    await rm(folder, { recursive: true });
    expect(ring.current().id).toBe(id);
    expect(() => ring.find('k-unknown')).toThrow(KeyError);
  });

  it('explains why the folder cannot be read any more', async () => {
    const ring = openKeyRing({ folder, create: true, recheckMs: 0 });
    await rm(folder, { recursive: true });
    await symlink(folder, folder);
    expect(() => ring.current()).toThrow(/keys\.json cannot be read: its links lead in a circle/);
  });

  it('names an unknown key, and how to get it', () => {
    const ring = openKeyRing({ folder, create: true });
    expect(() => ring.find('k0badcafe')).toThrow(/k0badcafe.*heddle keys import/);
  });

  it('shows no key bytes when it is dumped or listed', async () => {
    const ring = openKeyRing({ folder, create: true });
    const [bytes = ''] =
      (await readFile(join(folder, 'keys.json'), 'utf8')).match(/[A-Za-z0-9+/]{43}=/) ?? [];
    expect(bytes).toHaveLength(44);
    const shown =
      inspect([ring, ring.current(), ring.list()], { depth: 10, showHidden: true }) +
      JSON.stringify([ring, ring.current(), ring.list()]);
    expect(shown).not.toContain(bytes);
    expect(shown).not.toContain(Buffer.from(bytes, 'base64').toString('hex'));
  });
});

describe('a key folder', () => {
  it('loses no key in concurrent rotations', async () => {
    createKeys(folder);
    const ids = await Promise.all(Array.from({ length: 12 }, () => rotateKeys(folder)));
    const listed = openKeyRing({ folder, create: false }).list();
    expect(listed.map((key) => key.id)).toEqual(expect.arrayContaining(ids));
    expect(listed).toHaveLength(13);
    expect(listed.filter((key) => key.current)).toHaveLength(1);
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  it('lets a key be distributed before one encrypts with it', async () => {
    createKeys(folder);
    const ring = openKeyRing({ folder, create: false, recheckMs: 0 });
    const old = ring.current().id;
    const next = await addKey(folder);
    expect(ring.current().id).toBe(old);
    await useKey(folder, next);
    expect(ring.current().id).toBe(next);
    await expect(useKey(folder, 'nosuch')).rejects.toThrow(/nosuch/);
  });

  it('is not created twice', () => {
    createKeys(folder);
    expect(() => createKeys(folder)).toThrow(/heddle keys rotate/);
  });

  it('is changed although a killed process left its lock', async () => {
    createKeys(folder);
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    const lock = join(folder, 'keys.lock');
    await writeFile(lock, JSON.stringify({ owner: { pid, started: 'earlier' } }));
    const minuteAgo = new Date(Date.now() - 60_000);
    await utimes(lock, minuteAgo, minuteAgo);
    await rotateKeys(folder);
    expect(existsSync(lock)).toBe(false);
  });

  it('stays as it is, without a temporary file, if it cannot be replaced', async () => {
    createKeys(folder);
    const file = join(folder, 'keys.json');
    const failed = updateKeyFolder(folder, (document) => {
      rmSync(file);
      mkdirSync(join(file, 'inside'), { recursive: true });
      return document;
    });
    await expect(failed).rejects.toThrow(
      /^keys cannot be written to .*keys: it is a folder\. The keys are unchanged$/,
    );
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  it('reports a damaged lock as such, and only the first key asks for another folder', async () => {
    createKeys(folder);
    await writeFile(join(folder, 'keys.lock'), '{}');
    await expect(rotateKeys(folder)).rejects.toThrow(/^(?!keys cannot be written).*keys\.lock/);
    expect(() => createKeys(join(folder, 'keys.json', 'below'))).toThrow(/Specify another folder/);
  });

  it('refuses to change unknown keys', async () => {
    await expect(rotateKeys(folder)).rejects.toThrow(/heddle keys create/);
  });
});

modes('a key folder open to others', () => {
  it('is created with modes 0700 and 0600', async () => {
    createKeys(folder);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, 'keys.json'))).mode & 0o777).toBe(0o600);
    await rotateKeys(folder);
    expect((await stat(join(folder, 'keys.json'))).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['keys.json', 0o640, /keys\.json is accessible to other users \(mode 640\); chmod go= .*rotating/],
    ['.', 0o750, /is accessible to other users \(mode 750\); chmod go= /],
  ])('is refused (%s)', async (name, mode, message) => {
    createKeys(folder);
    await chmod(join(folder, name), mode);
    expect(() => openKeyRing({ folder, create: true })).toThrow(message);
  });
});

describe('export and import', () => {
  it('transfer a ring with its current key', async () => {
    createKeys(folder);
    await rotateKeys(folder);
    const copy = join(base, 'copy');
    const exported = exportKeys(folder);
    expect(exported.trimEnd()).not.toContain('\n');
    await importKeys(copy, exported, 'standard input');
    expect(openKeyRing({ folder: copy, create: false }).list()).toEqual(
      openKeyRing({ folder, create: false }).list(),
    );
    expect(parseKeyRing(exported, 'HEDDLE_KEYS').current().id).toBe(
      openKeyRing({ folder, create: false }).current().id,
    );
  });

  it('merge, keep the current key, and are repeatable', async () => {
    createKeys(folder);
    const other = join(base, 'other');
    const { id } = createKeys(other).current();
    const mine = openKeyRing({ folder, create: false }).current().id;
    expect(await importKeys(folder, exportKeys(other), 'other')).toEqual([id]);
    expect(await importKeys(folder, exportKeys(other), 'other')).toEqual([]);
    const ring = openKeyRing({ folder, create: false });
    expect(ring.current().id).toBe(mine);
    expect(ring.find(id).id).toBe(id);
  });

  it('refuse another key under a known id, and change nothing', async () => {
    createKeys(folder);
    const before = exportKeys(folder);
    const forged = before.replace(/[A-Za-z0-9+/]{43}=/, Buffer.alloc(32, 7).toString('base64'));
    await expect(importKeys(folder, forged, 'backup.json')).rejects.toThrow(
      /backup\.json: key k[0-9a-f]{8} differs/,
    );
    expect(exportKeys(folder)).toBe(before);
  });

  it.each([
    ['no JSON', 'AAAA-not-to-be-quoted', /is not a JSON object/],
    ['a newer version', '{"version":2}', /unknown version/],
    ['no keys', '{"version":1,"current":"a","keys":[]}', /contains no keys/],
    ['an illegal id', `{"version":1,"current":"a","keys":[{"id":"../a"}]}`, /keys\[0\]\.id/],
    [
      'a bad date',
      `{"version":1,"current":"a","keys":[{"id":"a","createdAt":"when"}]}`,
      /keys\[0\]\.createdAt/,
    ],
    [
      'a short key',
      `{"version":1,"current":"a","keys":[{"id":"a","createdAt":"2026-01-01","key":"AAAA"}]}`,
      /keys\[0\]\.key/,
    ],
    [
      'a current key that is absent',
      `{"version":1,"current":"b","keys":[{"id":"a","createdAt":"2026-01-01","key":"${Buffer.alloc(32).toString('base64')}"}]}`,
      /current/,
    ],
  ])('refuses %s, naming the source and never quoting it', (_, text, message) => {
    expect(() => parseKeyRing(text, 'HEDDLE_KEYS')).toThrow(message);
    expect(() => parseKeyRing(text, 'HEDDLE_KEYS')).toThrow(/^HEDDLE_KEYS: /);
    expect(() => parseKeyRing(text, 'HEDDLE_KEYS')).not.toThrow(/AAAA/);
  });
});
