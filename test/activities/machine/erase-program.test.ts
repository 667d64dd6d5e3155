import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env, getuid } from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eraseProgram } from '../../../src/activities/machine/erase-program.js';
import { newFolder } from '../../harness/folder.js';

const mebibyte = 2 ** 20;
let folder: string;
let disk: string;
beforeEach(() => {
  folder = newFolder();
  disk = join(folder, 'disk');
  writeFileSync(disk, Buffer.alloc(8 * mebibyte, 'private '));
});

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
  ['a disk that is absent', 'none', ['overwrite'], /none does not exist, or is not a disk/],
])('%s is a failure with its cause, and no proof', (_, name, words, message) => {
  const [method = '', ...command] = words;
  const { status, stderr, proof } = erase(join(folder, name), method, ...command);
  expect(status).toBe(1);
  expect(stderr).toMatch(message);
  expect(proof).toEqual({});
});

test('a block that cannot be read afterwards is not an erased block', () => {
  const { status, stderr, proof } = erase(disk, 'command', 'truncate', '-s', `${4 * mebibyte}`, disk);
  expect(status).toBe(1);
  expect(stderr).toMatch(/4 of 8 blocks of .* could not be read/);
  expect(proof).toEqual({});
});

const loop = spawnSync('losetup', ['-f']).status === 0 && getuid?.() === 0;

describe.skipIf(!loop)('a block device', () => {
  const detach: (() => void)[] = [];
  afterEach(() =>
    detach
      .splice(0)
      .reverse()
      .forEach((undo) => undo()),
  );

  function run(...[program = '', ...words]: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${status}: ${stderr}`);
    return stdout.trim();
  }
  function attach(): string {
    const attached = run('losetup', '-f', '--show', disk);
    detach.push(() => spawnSync('losetup', ['-d', attached]));
    return attached;
  }
  function addPartition(device: string, number: number, start: number): string {
    run('addpart', device, String(number), String(start), '6144');
    detach.push(() => spawnSync('delpart', [device, String(number)]));
    return `${device}p${number}`;
  }
  function mount(device: string, ...path: readonly string[]): string {
    const point = join(folder, ...path);
    mkdirSync(point, { recursive: true });
    run('mount', device, point);
    detach.push(() => spawnSync('umount', ['-l', point]));
    return point;
  }
  const mounts = (): readonly string[] =>
    readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[4] ?? '');

  test('is discarded, after its file systems are unmounted, those inside others first', () => {
    const device = attach();
    run('mkfs.ext4', '-q', '-F', device);
    const point = mount(device, 'disk 1');
    mkdirSync(join(point, 'inner'));
    mount(device, 'disk 1', 'inner');
    writeFileSync(join(point, 'secret'), 'private');
    const { status, stderr, proof } = erase(device, 'blkdiscard');
    expect(status, stderr).toBe(0);
    expect(proof).toMatchObject({ bytes: String(8 * mebibyte), samples: '8', zeros: '8' });
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(`${device} `);
    expect(readFileSync(device).includes('private')).toBe(false);
  });

  test('is found by its number: whatever its path is, and with its partitions', () => {
    const device = attach();
    const part = addPartition(device, 1, 2048);
    run('mkfs.ext4', '-q', '-F', part);
    const point = mount(part, 'mounted');
    const other = join(folder, 'other-name');
    run('cp', '-a', device, other);
    const { status, stderr } = erase(other, 'overwrite');
    expect(status, stderr).toBe(0);
    expect(mounts()).not.toContain(point);
  });

  test('leaves alone a device whose name begins with its own', () => {
    const device = attach();
    const [first, tenth] = [addPartition(device, 1, 2048), addPartition(device, 10, 8192)];
    run('mkfs.ext4', '-q', '-F', tenth);
    const point = mount(tenth, 'tenth');
    const { status, stderr } = erase(first, 'overwrite');
    expect(status, stderr).toBe(0);
    expect(mounts()).toContain(point);
  });

  test('with the running system is refused, whatever its path is', ({ skip }) => {
    const root = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, , , , point]) => point === '/');
    const [major = '0', minor = '0'] = root?.[2]?.split(':') ?? [];
    if (!existsSync(`/sys/dev/block/${major}:${minor}`)) skip();
    const node = join(folder, 'system');
    run('mknod', node, 'b', major, minor);
    const before = mounts();
    const { status, stderr } = erase(node, 'command', 'true');
    expect(status).toBe(1);
    expect(stderr).toContain('has the running system');
    expect(mounts()).toEqual(before);
  });

  test('that is a partition is not formatted by nvme, which would erase its neighbours', () => {
    const { status, stderr } = erase(addPartition(attach(), 1, 2048), 'nvme');
    expect(status).toBe(1);
    expect(stderr).toMatch(/p1 is a partition/);
  });

  test('is erased after swap on it is turned off', () => {
    const device = attach();
    run('mkswap', device);
    run('swapon', device);
    detach.push(() => spawnSync('swapoff', [device]));
    const { status, stderr } = erase(device, 'overwrite');
    expect(status, stderr).toBe(0);
    expect(readFileSync('/proc/swaps', 'utf8')).not.toContain(`${device} `);
  });

  test('whose blocks could not be read before has no proof that they changed', () => {
    // The kernel says that this file has 4096 bytes, and gives fewer.
    writeFileSync(disk, Buffer.alloc(4096, 'private '));
    run('mount', '--bind', '/sys/kernel/mm/transparent_hugepage/enabled', disk);
    detach.push(() => spawnSync('umount', ['-l', disk]));
    const { status, stderr, proof } = erase(disk, 'command', 'umount', disk);
    expect(status).toBe(1);
    expect(stderr).toMatch(/1 of 1 blocks of .* could not be read/);
    expect(proof).toEqual({});
  });
});
