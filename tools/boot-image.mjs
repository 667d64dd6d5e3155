// @ts-check
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { bootPartsFolder, makeBootParts, run, systemAt, writeBootDisk } from './boot-disk.mjs';
import { cacheFolder, isMain, root, runMain, say } from './environment.mjs';
import { makeNodeImage, nodeImageFile } from './node-image.mjs';

/** Drivers of a virtual machine, and what else its first process needs. */
const modules = [
  'virtio_pci',
  'virtio_blk',
  'virtio_net',
  'vfat',
  'nls_cp437',
  'nls_iso8859-1',
  'nls_ascii',
  'button',
  'evdev',
];
/** Where the disk ends, in megabytes. */
const diskEnd = 641;

/**
 * A disk that boots on any PC, with Debian, an SSH server, and a reader of seed disks: a machine of the
 * libvirt tests. Another number makes it anew: what goes onto it has changed.
 */
export function bootImageFile() {
  return join(cacheFolder(), 'boot-image-1.qcow2');
}

/**
 * Makes the disk where it is not there yet. Nothing is mounted, and no package is installed: they are taken
 * apart in a folder.
 */
export function makeBootImage() {
  const file = bootImageFile();
  if (existsSync(file)) return say(`the disk of the virtual machine tests is there: ${file}`);
  if (process.arch !== 'x64') return say('the disk of the virtual machine tests is made on x86_64 alone');
  makeNodeImage();
  makeBootParts();
  say(`makes the disk of the virtual machine tests into ${file}: 260 MB, about a minute`);
  const folder = mkdtempSync(join(cacheFolder(), 'boot-image-'));
  try {
    const parts = bootPartsFolder();
    const disk = join(folder, 'disk');
    writeBootDisk(disk, parts, makeInitramfs(folder, parts), diskEnd);
    writeSystem(disk, folder, parts);
    run(['qemu-img', 'convert', '-O', 'qcow2', disk, join(folder, 'image')]);
    renameSync(join(folder, 'image'), file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A kernel's own system that finds the disk. @param {string} folder @param {string} parts */
function makeInitramfs(folder, parts) {
  const [version = ''] = readdirSync(join(parts, 'lib/modules'));
  const tree = join(folder, 'initramfs');
  run([join(parts, 'bin/busybox'), 'depmod', '-b', parts, version]);
  const needed = readFileSync(join(parts, 'lib/modules', version, 'modules.dep'), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [own = '', others = ''] = line.split(':');
      return modules.includes(basename(own, '.ko'))
        ? [own, ...others.split(' ').filter((word) => word !== '')]
        : [];
    });
  for (const path of ['bin', 'proc', 'dev', 'root', `lib/modules/${version}`])
    mkdirSync(join(tree, path), { recursive: true });
  for (const path of new Set(needed)) {
    mkdirSync(join(tree, 'lib/modules', version, path, '..'), { recursive: true });
    copyFileSync(join(parts, 'lib/modules', version, path), join(tree, 'lib/modules', version, path));
  }
  copyFileSync(
    join(parts, 'lib/modules', version, 'modules.dep'),
    join(tree, 'lib/modules', version, 'modules.dep'),
  );
  writeFileSync(join(tree, 'modules'), modules.join('\n'));
  place(join(parts, 'bin/busybox'), join(tree, 'bin/busybox'));
  place(join(root, 'tools/boot-image/initramfs-init'), join(tree, 'init'));
  const file = join(folder, 'initrd');
  run([
    'sh',
    '-ec',
    'cd "$1" && "$2" find . | "$2" cpio -o -H newc 2>/dev/null | gzip -1 >"$3"',
    'sh',
    tree,
    join(parts, 'bin/busybox'),
    file,
  ]);
  return file;
}

/** @param {string} disk @param {string} folder @param {string} parts */
function writeSystem(disk, folder, parts) {
  const system = join(folder, 'system');
  mkdirSync(system);
  run(['tar', '-C', system, '-xf', nodeImageFile()]);
  for (const left of [
    'usr/share/doc',
    'usr/share/locale',
    'usr/share/man',
    'var/lib/apt/lists',
    'var/cache/apt',
    'var/cache/debconf',
  ])
    rmSync(join(system, left), { recursive: true, force: true });
  mkdirSync(join(system, 'etc/boot/acpi'), { recursive: true });
  place(join(parts, 'bin/busybox'), join(system, 'usr/bin/busybox'));
  rmSync(join(system, 'sbin/init'), { force: true });
  place(join(root, 'tools/boot-image/init'), join(system, 'sbin/init'));
  for (const name of ['read-seed', 'dhcp'])
    place(join(root, 'tools/boot-image', name), join(system, 'etc/boot', name));
  place(join(root, 'tools/boot-image/power-button'), join(system, 'etc/boot/acpi/PWRF'));
  // What the kernel tells of the button: type, code, value; the last word is the program.
  writeFileSync(join(system, 'etc/boot/acpi.map'), 'EV_KEY 0x01 KEY_POWER 116 1 PWRF\n');
  writeFileSync(
    join(system, 'etc/ssh/sshd_config.d/test.conf'),
    'UseDNS no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n',
  );
  writeFileSync(join(system, 'etc/fstab'), '');
  run([
    'mke2fs',
    '-q',
    '-F',
    '-t',
    'ext4',
    '-d',
    system,
    '-E',
    `offset=${systemAt * 2 ** 20}`,
    disk,
    `${diskEnd - systemAt}M`,
  ]);
}

/** @param {string} from @param {string} to */
function place(from, to) {
  copyFileSync(from, to);
  chmodSync(to, 0o755);
}

if (isMain(import.meta.url)) await runMain(async () => makeBootImage());
