import { describe, expect, it } from 'vitest';
import { chooseDisk, readDisks } from '../../../src/plugins/bare-metal/imaging/choose-disk.js';

const gigabyte = 1e9;
const sda = `sda ${100 * gigabyte} 0 0 S-1 naa.5000c5`;
const nvme = `nvme0n1 ${500 * gigabyte} 0 0 N-7 eui.0025`;
const stick = `sdb ${8 * gigabyte} 1 0 - -`;

describe('the disk of an image', () => {
  it.each<readonly [title: string, report: string, wanted: string | undefined, result: object]>([
    ['is the only fixed one', `${stick}\n${sda}`, undefined, { is: 'chosen', disk: { name: 'sda' } }],
    ['is the one that is named', `${sda}\n${nvme}`, 'nvme0n1', { is: 'chosen', disk: { name: 'nvme0n1' } }],
    ['is named by its path', `${sda}\n${nvme}`, '/dev/sda', { is: 'chosen', disk: { name: 'sda' } }],
    ['is named by its serial number', `${sda}\n${nvme}`, 'N-7', { is: 'chosen', disk: { name: 'nvme0n1' } }],
    ['is named by its WWID', `${sda}\n${nvme}`, 'naa.5000c5', { is: 'chosen', disk: { name: 'sda' } }],
    ['may be removable if it is named', `${stick}\n${sda}`, 'sdb', { is: 'chosen', disk: { name: 'sdb' } }],
    [
      'is not guessed among several',
      `${sda}\n${nvme}`,
      undefined,
      {
        is: 'refused',
        why: expect.stringMatching(/field disk.*sda \(100000000000 bytes, serial number S-1\), nvme0n1/),
      },
    ],
    [
      'is absent without disks',
      '',
      undefined,
      { is: 'absent', why: expect.stringContaining('it has no disks') },
    ],
    [
      'is absent if only removable ones are there',
      stick,
      undefined,
      { is: 'absent', why: expect.stringContaining('sdb (8000000000 bytes)') },
    ],
    [
      'is absent under another name',
      sda,
      'sdz',
      { is: 'absent', why: expect.stringContaining('disk sdz does not exist') },
    ],
    ['never has the name that stands for none', stick, '-', { is: 'absent' }],
    [
      'is refused if it is too small',
      `sda ${gigabyte - 512} 0 0 - -`,
      undefined,
      {
        is: 'refused',
        why: expect.stringMatching(/sda \(999999488 bytes\) is too small .* 1000000000 bytes/),
      },
    ],
    ['is refused if it can only be read', `sda ${gigabyte} 0 1 - -`, 'sda', { is: 'refused' }],
  ])('%s', (_, report, wanted, result) => {
    expect(chooseDisk(readDisks(report), wanted, gigabyte)).toMatchObject(result);
  });

  it('is read from lines of the right form alone', () => {
    const lines = [
      'sda 1 0 0 -',
      '../sda 1 0 0 - -',
      'sda; reboot 1 0 0 - -',
      'sda -1 0 0 - -',
      `sda 1 0 0 ${'x'.repeat(200)} -`,
      'sda 99999999999999999999 0 0 - -',
      'sdb 512 0 0 s w',
    ];
    expect(readDisks(lines.join('\n'))).toEqual([
      { name: 'sdb', bytes: 512, removable: false, readOnly: false, serial: 's', wwid: 'w' },
    ]);
    expect(readDisks('sda 1 0 0 - -\n'.repeat(10_000))).toHaveLength(256);
  });
});
