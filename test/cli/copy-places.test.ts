import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findDestination, placeTree } from '../../src/cli/cluster/copy/place-tree.js';
import { nameOf, readCopy } from '../../src/cli/cluster/copy/places.js';
import { newFolder } from '../harness/folder.js';

describe('the places of a copy', () => {
  it('are a path on a node and one on this computer', () => {
    expect(readCopy('web:app-1:/a b:c', '.')).toEqual({
      direction: 'from node',
      place: { cluster: 'web', node: 'app-1', path: '/a b:c' },
      local: '.',
    });
    expect(readCopy('./web:app-1:x', 'web:app-1:')).toEqual({
      direction: 'to node',
      place: { cluster: 'web', node: 'app-1', path: '.' },
      local: './web:app-1:x',
    });
  });

  it.each([
    ['a', 'b', /neither is on a node/],
    ['web:a-1:x', 'web:a-2:x', /both are on nodes/],
    ['', 'web:a-1:x', /empty/],
  ])('are refused if they are "%s" and "%s"', (source, target, message) => {
    expect(() => readCopy(source, target)).toThrow(message);
  });

  it.each([
    ['/var/log/', 'log'],
    ['a', 'a'],
    ['data/.', '.'],
    ['..', '.'],
    ['/', '.'],
    ['n\nl', 'n\nl'],
  ])('give "%s" the name "%s" in a folder', (path, name) => {
    expect(nameOf(path)).toBe(name);
  });

  it('are a folder that exists, or a new name in one', async () => {
    const folder = newFolder();
    expect(await findDestination(folder, 'log')).toEqual({ path: join(folder, 'log'), base: folder });
    expect(await findDestination(join(folder, 'new'), 'log')).toEqual({
      path: join(folder, 'new'),
      base: folder,
    });
    const link = join(newFolder(), 'link');
    symlinkSync(folder, link);
    expect(await findDestination(link, 'log')).toEqual({ path: join(folder, 'log'), base: folder });
    expect((await findDestination(link, '.')).path).toBe(folder);
    await expect(findDestination(join(folder, 'new/'), 'log')).rejects.toThrow(/there is no folder/);
    await expect(findDestination(join(folder, 'no/new'), 'log')).rejects.toThrow(/there is no folder/);
  });
});

describe('a copy that has arrived', () => {
  it('is merged into a folder that exists, and replaces equal names', async () => {
    const folder = newFolder();
    const [from, to] = [join(folder, 'from'), join(folder, 'to')];
    mkdirSync(join(from, 'sub'), { recursive: true });
    mkdirSync(join(to, 'sub'), { recursive: true });
    writeFileSync(join(from, 'sub/a'), 'new');
    writeFileSync(join(to, 'sub/a'), 'old');
    writeFileSync(join(to, 'kept'), '');
    await placeTree(from, 'folder', to);
    expect(readFileSync(join(to, 'sub/a'), 'utf8')).toBe('new');
    expect(readdirSync(to).toSorted()).toEqual(['kept', 'sub']);
  });

  it('is refused as a whole if a folder of it would go through a link', async () => {
    const folder = newFolder();
    const [from, to, outside] = ['from', 'to', 'outside'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const path of [join(from, 'sub'), to, outside]) mkdirSync(path, { recursive: true });
    writeFileSync(join(from, 'a'), '');
    writeFileSync(join(from, 'sub/evil'), '');
    symlinkSync(outside, join(to, 'sub'));
    await expect(placeTree(from, 'folder', to)).rejects.toThrow(/sub exists, and is not a folder/);
    expect([readdirSync(outside), readdirSync(to)]).toEqual([[], ['sub']]);
  });

  it('is refused if a file was requested and a folder or several files arrived', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'from/x'), { recursive: true });
    await expect(placeTree(join(folder, 'from'), 'file', join(folder, 'to'))).rejects.toThrow(
      /something other/,
    );
  });
});
