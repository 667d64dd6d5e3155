import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, getuid } from 'node:process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eraseProgram } from '../../../src/activities/machine/erase-program.js';

const mebibyte = 2 ** 20;
let folder: string;
let disk: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-erase-'));
  disk = join(folder, 'disk');
  writeFileSync(disk, Buffer.alloc(8 * mebibyte, 'private '));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function erase(device: string, method: string, ...command: readonly string[]) {
  const result = join(folder, 'result');
  writeFileSync(result, '');
  const { status, stderr } = spawnSync('sh', ['-s', '--', device, method, ...command], {
    input: eraseProgram,
    encoding: 'utf8',
    env: { ...env, HEDDLE_RUN: folder, HEDDLE_RESULT: result },
  });
  const proof = Object.fromEntries(
    readFileSync(result, 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [line.split('=') as [string, string]])),
  );
  return { status, stderr: stderr.trim(), proof };
}

const digestOf = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

test('a disk that is overwritten has zeros only, and the proof is their digest', () => {
  truncateSync(disk, 8 * mebibyte + 512);
  const { status, stderr, proof } = erase(disk, 'overwrite');
  expect([status, stderr]).toEqual([0, '']);
  expect(readFileSync(disk).every((byte) => byte === 0)).toBe(true);
  const zeros = digestOf(Buffer.alloc(mebibyte));
  expect(proof).toEqual({
    bytes: String(8 * mebibyte + 512),
    samples: '8',
    zeros: '8',
    sha256: digestOf(`${zeros}\n`.repeat(8)),
  });
});

test('a command that changes all blocks erases a disk, also by its other name', () => {
  const link = join(folder, 'by-id');
  symlinkSync(disk, link);
  const scramble = `head -c ${8 * mebibyte} /dev/urandom | dd of="$1" conv=notrunc 2>/dev/null`;
  const { status, proof } = erase(link, 'command', 'sh', '-c', scramble, 'sh', link);
  expect(status).toBe(0);
  expect(proof).toMatchObject({ samples: '8', zeros: '0' });
});

test.each([
  ['a command that leaves blocks as they were', 'disk', ['command', 'true'], /8 of 8 blocks .* have data/],
  [
    'a command that fails',
    'disk',
    ['command', 'sh', '-c', 'echo worn out >&2; exit 9'],
    /worn out\n.*ended with 9/,
  ],
  ['a tool that the disk does not know', 'disk', ['blkdiscard'], /blkdiscard of .* ended with/],
  ['an unknown method', 'disk', ['magic'], /no method magic/],
  ['a disk that is absent', 'none', ['overwrite'], /there is no/],
])('%s is a failure with its cause, and no proof', (_, name, words, message) => {
  const [method = '', ...command] = words;
  const { status, stderr, proof } = erase(join(folder, name), method, ...command);
  expect(status).toBe(1);
  expect(stderr).toMatch(message);
  expect(proof).toEqual({});
});

const loop = spawnSync('losetup', ['-f']).status === 0 && getuid?.() === 0;

test.skipIf(!loop)('a block device is discarded, after its file system is unmounted', () => {
  const attached = spawnSync('losetup', ['-f', '--show', disk], { encoding: 'utf8' });
  const device = attached.stdout.trim();
  try {
    const point = join(folder, 'mounted here');
    spawnSync('mkdir', [point]);
    const made = spawnSync('mkfs.ext4', ['-q', '-F', device]);
    const mounted = made.status === 0 && spawnSync('mount', [device, point]).status === 0;
    if (mounted) writeFileSync(join(point, 'secret'), 'private');
    const { status, stderr, proof } = erase(device, 'blkdiscard');
    expect(status, stderr).toBe(0);
    expect(proof).toMatchObject({ bytes: String(8 * mebibyte), samples: '8', zeros: '8' });
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(`${device} `);
    expect(readFileSync(device).includes('private')).toBe(false);
  } finally {
    spawnSync('losetup', ['-d', device]);
  }
});
