import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeSeedImage } from '../../../src/plugins/cloud-init/seed-image.js';
import { newFolder } from '../../harness/folder.js';

const files = {
  'meta-data': '{"instance-id": "a"}',
  'user-data': `#cloud-config\n${'x'.repeat(20_000)}é\n`,
  empty: '',
};
const hasTools = spawnSync('mcopy', ['--version']).error === undefined;

describe('the disk for cloud-init', () => {
  test('has the expected label, and the same bytes for the same files', () => {
    const image = makeSeedImage(files);
    expect([image.length, image.toString('latin1', 43, 54), image.readUInt16LE(510)]).toEqual([
      1_474_560,
      'CIDATA     ',
      0xaa55,
    ]);
    expect(makeSeedImage(files).equals(image)).toBe(true);
  });

  test('refuses files that do not fit', () => {
    expect(() => makeSeedImage({ 'a-name-too-long': '' })).toThrow(RangeError);
    expect(() => makeSeedImage({ 'user-data': 'x'.repeat(1_500_000) })).toThrow('user-data does not fit');
  });

  test.skipIf(!hasTools)(
    `is read by mtools as it was written${hasTools ? '' : ' (mtools is not installed: npm run setup:extras)'}`,
    () => {
      const folder = newFolder();
      try {
        const path = join(folder, 'seed.img');
        writeFileSync(path, makeSeedImage(files));
        const read = (name: string): string =>
          spawnSync('mcopy', ['-n', '-i', path, `::${name}`, '-'], { encoding: 'utf8' }).stdout;
        expect(Object.fromEntries(Object.keys(files).map((name) => [name, read(name)]))).toEqual(files);
        expect(
          spawnSync('mdir', ['-i', path, '-b'], { encoding: 'utf8' })
            .stdout.trim()
            .split('\n')
            .map((line) => line.trim()),
        ).toEqual(['::/meta-data', '::/user-data', '::/empty']);
        expect(spawnSync('mlabel', ['-s', '-i', path], { encoding: 'utf8' }).stdout).toContain('CIDATA');
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
