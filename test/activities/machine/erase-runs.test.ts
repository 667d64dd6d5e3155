import { expect, test } from 'vitest';
import { eraseRuns } from '../../../src/activities/machine/erase-disks.js';
import type { DiskToErase } from '../../../src/model/machine/erase.js';

const first: DiskToErase = { device: '/dev/sda', method: 'overwrite' };
const second: DiskToErase = { device: '/dev/sdb', method: 'overwrite' };
const namesOf = (...disks: readonly DiskToErase[]): readonly string[] =>
  eraseRuns(disks).map(({ name }) => name);

test('the run of a disk has the same name wherever the disk is in the list', () => {
  expect(namesOf(second, first)).toEqual(namesOf(first, second).toReversed());
  expect(namesOf(second)).toEqual(namesOf(first, second).slice(1));
});

test.each<[string, DiskToErase]>([
  ['another disk', second],
  ['another method', { device: '/dev/sda', method: 'blkdiscard' }],
  ['a command', { device: '/dev/sda', method: 'command', command: ['wipe', '/dev/sda'] }],
  ['the same entry again', first],
])('%s is a run of its own', (_, disk) => {
  expect(new Set(namesOf(first, disk)).size).toBe(2);
});

test('different commands for a disk are different runs', () => {
  const wipe = (...command: readonly string[]): DiskToErase => ({
    device: '/dev/sda',
    method: 'command',
    command,
  });
  expect(new Set(namesOf(wipe('wipe', '1'), wipe('wipe', '2'), wipe('wipe 1'))).size).toBe(3);
});
