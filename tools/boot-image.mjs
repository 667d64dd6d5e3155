// @ts-check
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
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
const packages = ['linux-image-cloud-amd64', 'busybox-static', 'syslinux', 'syslinux-common'];

const megabyte = 2 ** 20;
/**
 * Where the partitions begin, and where the disk ends, in megabytes: a boot loader with kernel, and the
 * system.
 */
const [bootAt, systemAt, diskEnd] = [1, 41, 641];

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
  say(`makes the disk of the virtual machine tests into ${file}: 260 MB, about a minute`);
  const folder = mkdtempSync(join(cacheFolder(), 'boot-image-'));
  try {
    const parts = join(folder, 'parts');
    fetchPackages(folder, parts);
    const disk = join(folder, 'disk');
    writeFileSync(disk, '');
    truncateSync(disk, diskEnd * megabyte);
    writePartitions(disk, join(parts, 'usr/lib/syslinux/mbr/mbr.bin'));
    writeBootPartition(disk, parts, makeInitramfs(folder, parts));
    writeSystem(disk, folder, parts);
    run(['qemu-img', 'convert', '-O', 'qcow2', disk, join(folder, 'image')]);
    renameSync(join(folder, 'image'), file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder @param {string} parts */
function fetchPackages(folder, parts) {
  const [kernel = ''] =
    /linux-image-\d\S*-cloud-amd64/.exec(run(['apt-cache', 'depends', 'linux-image-cloud-amd64'])) ?? [];
  if (kernel === '') throw new Error('apt-get knows no kernel for virtual machines: run apt-get update');
  chmodSync(folder, 0o755);
  run(
    [
      'apt-get',
      'download',
      '-q',
      ...packages.map((name) => (name.startsWith('linux-image') ? kernel : name)),
    ],
    folder,
  );
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.deb')))
    run(['dpkg', '-x', join(folder, name), parts]);
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

/**
 * The first sector: a loader of the active partition, and the table.
 * @param {string} disk
 * @param {string} loader
 */
function writePartitions(disk, loader) {
  const sector = Buffer.alloc(512);
  readFileSync(loader).copy(sector, 0, 0, 440);
  const perMegabyte = megabyte / 512;
  for (const [index, [active, type, from, to]] of [
    [0x80, 0x0e, bootAt, systemAt],
    [0, 0x83, systemAt, diskEnd],
  ].entries()) {
    const at = 446 + index * 16;
    sector[at] = active ?? 0;
    sector.fill(0xff, at + 1, at + 8);
    sector[at + 4] = type ?? 0;
    sector.writeUInt32LE((from ?? 0) * perMegabyte, at + 8);
    sector.writeUInt32LE(((to ?? 0) - (from ?? 0)) * perMegabyte, at + 12);
  }
  sector.writeUInt16LE(0xaa55, 510);
  const open = openSync(disk, 'r+');
  writeSync(open, sector, 0, 512, 0);
  closeSync(open);
}

/** @param {string} disk @param {string} parts @param {string} initrd */
function writeBootPartition(disk, parts, initrd) {
  const sectors = ((systemAt - bootAt) * megabyte) / 512;
  const drive = `${disk}@@${bootAt}M`;
  const kernel = readdirSync(join(parts, 'boot')).find((name) => name.startsWith('vmlinuz-')) ?? '';
  const settings = join(parts, 'syslinux.cfg');
  writeFileSync(
    settings,
    'DEFAULT linux\nLABEL linux\n  KERNEL vmlinuz\n  INITRD initrd\n  APPEND console=ttyS0 quiet panic=5\n',
  );
  run([
    'mformat',
    '-i',
    drive,
    '-T',
    String(sectors),
    '-h',
    '64',
    '-s',
    '32',
    '-H',
    String((bootAt * megabyte) / 512),
    '::',
  ]);
  run(['mcopy', '-i', drive, join(parts, 'boot', kernel), '::vmlinuz']);
  run(['mcopy', '-i', drive, initrd, '::initrd']);
  run(['mcopy', '-i', drive, settings, '::syslinux.cfg']);
  run([join(parts, 'usr/bin/syslinux'), '--install', '--offset', String(bootAt * megabyte), disk]);
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
    `offset=${systemAt * megabyte}`,
    disk,
    `${diskEnd - systemAt}M`,
  ]);
}

/** @param {string} from @param {string} to */
function place(from, to) {
  copyFileSync(from, to);
  chmodSync(to, 0o755);
}

/** @param {string[]} words @param {string} [cwd] */
function run([program = '', ...words], cwd = root) {
  const { status, error, stdout, stderr } = spawnSync(program, words, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 64 * megabyte,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.slice(-1_000)}`);
  return stdout;
}

if (isMain(import.meta.url)) await runMain(async () => makeBootImage());
