// @ts-check
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder, isMain, root, runMain, say } from './environment.mjs';

const packages = ['linux-image-cloud-amd64', 'busybox-static', 'syslinux', 'syslinux-common'];

const megabyte = 2 ** 20;
/** Where the partitions begin, in megabytes: a boot loader with kernel, and a system. */
const bootAt = 1;
export const systemAt = 41;

/** Unpacked packages that a virtual machine boots from: a kernel, its modules, busybox and a boot loader. */
export function bootPartsFolder() {
  return join(cacheFolder(), 'boot-parts-1');
}

/** Fetches the packages where they are not there yet; none is installed. */
export function makeBootParts() {
  const parts = bootPartsFolder();
  if (existsSync(parts)) return say(`what virtual machines boot from is there: ${parts}`);
  if (process.arch !== 'x64') return say('what virtual machines boot from is fetched on x86_64 alone');
  say(`fetches what virtual machines boot from into ${parts}: 110 MB`);
  mkdirSync(dirname(parts), { recursive: true });
  const folder = mkdtempSync(`${parts}-`);
  try {
    fetchPackages(folder, join(folder, 'parts'));
    renameSync(join(folder, 'parts'), parts);
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

/**
 * A disk that boots the kernel of the parts with an initramfs; what is beyond its boot partition, up to `end`
 * megabytes, is for a system.
 * @param {string} disk
 * @param {string} parts
 * @param {string} initrd
 * @param {number} [end]
 */
export function writeBootDisk(disk, parts, initrd, end = systemAt) {
  writeFileSync(disk, '');
  truncateSync(disk, end * megabyte);
  writePartitions(disk, join(parts, 'usr/lib/syslinux/mbr/mbr.bin'), end);
  writeBootPartition(disk, parts, initrd);
}

/**
 * The first sector: a loader of the active partition, and the table.
 * @param {string} disk
 * @param {string} loader
 * @param {number} end
 */
function writePartitions(disk, loader, end) {
  const sector = Buffer.alloc(512);
  readFileSync(loader).copy(sector, 0, 0, 440);
  const perMegabyte = megabyte / 512;
  for (const [index, [active, type, from, to]] of [
    [0x80, 0x0e, bootAt, systemAt],
    [0, 0x83, systemAt, end],
  ].entries()) {
    if (from === to) continue;
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
  const settings = `${disk}.cfg`;
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
  rmSync(settings);
  run([join(parts, 'usr/bin/syslinux'), '--install', '--offset', String(bootAt * megabyte), disk]);
}

/** @param {string[]} words @param {string} [cwd] */
export function run([program = '', ...words], cwd = root) {
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

/** DISK INITRD: a disk without another system, for tests. */
if (isMain(import.meta.url))
  await runMain(async () => {
    const [disk = '', initrd = ''] = process.argv.slice(2);
    writeBootDisk(disk, bootPartsFolder(), initrd);
  });
