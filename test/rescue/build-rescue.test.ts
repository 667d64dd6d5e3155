import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildRescue } from '../../src/rescue/build-rescue.js';
import { RescueError } from '../../src/rescue/rescue-error.js';
import { newFolder } from '../harness/folder.js';

/** As much of a program as is read of it: the numbers of its program headers' types. */
function program(...types: readonly number[]): Buffer {
  const header = Buffer.alloc(64 + types.length * 56);
  header.write('\u007FELF\u0002\u0001');
  header.writeBigUInt64LE(64n, 0x20);
  header.writeUInt16LE(56, 0x36);
  header.writeUInt16LE(types.length, 0x38);
  for (const [index, type] of types.entries()) header.writeUInt32LE(type, 64 + index * 56);
  return header;
}

const modules = {
  'kernel/drivers/net/ethernet/intel/e1000.ko': [],
  'kernel/drivers/net/virtio_net.ko.gz': ['kernel/net/core/failover.ko'],
  'kernel/net/core/failover.ko': [],
  'kernel/drivers/net/wireless/ath.ko': [],
  'kernel/drivers/scsi/sd_mod.ko': [],
  'kernel/sound/snd.ko': [],
} as const;

describe('the rescue system', () => {
  let folder: string;
  const put = async (path: string, data: Buffer | string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), data);
  };
  /** A module that needs a program which is not on the path. */
  const compressed = async (ending: string): Promise<void> => {
    const base = 'tree/usr/lib/modules/6.10.0';
    const module = `kernel/drivers/net/ethernet/intel/e1000.ko.${ending}`;
    await put(`${base}/${module}`, 'compressed');
    await put(`${base}/modules.dep`, `${module}:\n`);
    vi.stubEnv('PATH', join(folder, 'none'));
  };
  const from = (): string => join(folder, 'tree');
  const build = () => buildRescue({ from: from(), output: join(folder, 'out'), add: join(folder, 'more') });
  beforeEach(async () => {
    folder = newFolder();
    await put('tree/boot/vmlinuz-6.9.0', 'old');
    await put('tree/boot/vmlinuz-6.10.0', 'new');
    await put('tree/bin/busybox', program(1, 1));
    const base = 'tree/usr/lib/modules/6.10.0';
    for (const path of Object.keys(modules))
      await put(`${base}/${path}`, path.endsWith('.gz') ? gzipSync(path) : path);
    await put(
      `${base}/modules.dep`,
      Object.entries(modules)
        .map(([path, needed]) => `${path}: ${needed.join(' ')}`.trimEnd())
        .join('\n'),
    );
    await put(
      `${base}/modules.alias`,
      'alias virtio:d00000001v* virtio_net\nalias pci:v00008086d* e1000\nalias usb:v1 snd\n',
    );
    await put('more/lib/firmware/bnx2.fw', 'firmware');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('has the newest kernel, busybox, and drivers of disks and networks with what they need', async () => {
    const made = await build();
    expect(made.version).toBe('6.10.0');
    expect(await readFile(made.kernel, 'utf8')).toBe('new');
    const archive = gunzipSync(await readFile(made.initramfs));
    const names = namesOf(archive);
    expect(names.filter((name) => name.endsWith('.ko'))).toEqual([
      'lib/modules/6.10.0/kernel/drivers/net/ethernet/intel/e1000.ko',
      'lib/modules/6.10.0/kernel/drivers/net/virtio_net.ko',
      'lib/modules/6.10.0/kernel/drivers/scsi/sd_mod.ko',
      'lib/modules/6.10.0/kernel/net/core/failover.ko',
    ]);
    expect(names).toEqual(expect.arrayContaining(['bin/busybox', 'init', 'dhcp', 'lib/firmware/bnx2.fw']));
    for (const [index, name] of names.entries())
      if (name.includes('/')) expect(names.indexOf(dirname(name)), name).toBeLessThan(index);
    const text = archive.toString('latin1');
    expect(text).toContain('kernel/drivers/net/virtio_net.ko: kernel/net/core/failover.ko\n');
    expect(text).toContain('alias virtio:d00000001v* virtio_net\n');
    expect(text).not.toContain('alias usb:v1 snd');
  });

  it.each<readonly [title: string, break_: () => Promise<void>, message: RegExp]>([
    ['a kernel', () => rm(join(folder, 'tree/boot'), { recursive: true }), /has no kernel/],
    [
      'modules',
      () => rm(join(folder, 'tree/usr'), { recursive: true }),
      /6\.10\.0 and its modules are not in/,
    ],
    ['busybox', () => rm(join(folder, 'tree/bin'), { recursive: true }), /no bin\/busybox/],
    ['a static busybox', () => put('tree/bin/busybox', program(1, 3)), /needs shared libraries/],
    [
      'a busybox of 64 bits',
      () => put('tree/bin/busybox', '\u007FELF\u0001\u0001'),
      /not a 64-bit ELF program/,
    ],
    ['a whole busybox', () => put('tree/bin/busybox', program(1, 1).subarray(0, 100)), /not a 64-bit ELF/],
    ['a program in place of busybox', () => put('tree/bin/busybox', '#!/bin/sh\n'), /not a 64-bit ELF/],
    ['xz', () => compressed('xz'), /e1000\.ko\.xz is compressed: install xz .*xz-utils/],
    ['zstd', () => compressed('zst'), /e1000\.ko\.zst is compressed: install zstd/],
  ])('is not made without %s', async (_, spoil, message) => {
    await spoil();
    await expect(build()).rejects.toThrow(message);
    await expect(build()).rejects.toBeInstanceOf(RescueError);
  });

  it('has scripts that a shell can read', () => {
    for (const path of ['rescue/init', 'rescue/dhcp', 'plugins/bare-metal/imaging/write-image.sh'])
      execFileSync('sh', ['-n', join(import.meta.dirname, '../../src', path)]);
  });
});

/** Names of the entries of a newc archive. */
function namesOf(archive: Buffer): readonly string[] {
  const names: string[] = [];
  const up = (at: number): number => Math.ceil(at / 4) * 4;
  for (let at = 0; ;) {
    const field = (index: number): number =>
      Number.parseInt(archive.toString('latin1', at + 6 + index * 8, at + 14 + index * 8), 16);
    const [size, nameSize] = [field(6), field(11)];
    const name = archive.toString('utf8', at + 110, at + 110 + nameSize - 1);
    if (name === 'TRAILER!!!') return names;
    names.push(name);
    at = up(up(at + 110 + nameSize) + size);
  }
}
