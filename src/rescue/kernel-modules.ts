import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { childEnvironment } from '../config/child-environment.js';
import { cpioFile, cpioFolder, type CpioEntry } from './cpio.js';
import { RescueError } from './rescue-error.js';

/** Drivers of network interfaces and disks, and what they need to be found. */
const wanted =
  /^kernel\/(?:drivers\/(?:ata|block|hv|message\/fusion|nvme|scsi|virtio|net\/(?:ethernet|phy|mdio|hyperv|vmxnet3|[^/]+\.ko))|drivers\/pci\/controller|drivers\/xen|net\/packet)/;
const unwanted =
  /\/drivers\/(?:block\/(?:drbd|rbd|nbd|zram|loop|null_blk|aoe|pktcdvd)|nvme\/target|scsi\/(?:scsi_debug|.*iscsi_tcp|cxgbi|libfc|fcoe|st\.|sg\.)|net\/(?:bonding|team|wireguard|dummy|ifb|tun|tap|vxlan|geneve|gtp|macvlan|macvtap|ipvlan|veth|vrf|vsockmon|nlmon|netconsole|netdevsim|amt|bareudp|macsec|eql|sungem|mhi_net|rionet|ntb_netdev|usb))/;

/** Debian's packages of the programs that unpack modules. */
const packages = { xz: 'xz-utils', zstd: 'zstd' } as const;

const maxBuffer = 256 * 2 ** 20;

/**
 * Drivers of the kernel that the rescue system takes along, each with all modules that it needs,
 * uncompressed. `folder` is the kernel's folder of modules, with the tables that depmod makes.
 */
export async function readModules(folder: string, version: string): Promise<readonly CpioEntry[]> {
  const table = new Map(
    (await readFile(join(folder, 'modules.dep'), 'utf8'))
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => {
        const [own = '', needed = ''] = line.split(':');
        return [own, needed.split(' ').filter((word) => word !== '')] as const;
      }),
  );
  const chosen = new Set(
    [...table.keys()]
      .filter((path) => wanted.test(path) && !unwanted.test(path))
      .flatMap((path) => [path, ...(table.get(path) ?? [])]),
  );
  const files: CpioEntry[] = [];
  const base = `lib/modules/${version}`;
  for (const path of [...chosen].toSorted())
    files.push(cpioFile(`${base}/${plain(path)}`, await readModule(join(folder, path))));
  const dependencies = [...table]
    .filter(([path]) => chosen.has(path))
    .map(([path, needed]) => `${plain(path)}: ${needed.map(plain).join(' ')}`.trimEnd());
  const names = new Set([...chosen].map(moduleName));
  const aliases = (await readFile(join(folder, 'modules.alias'), 'utf8'))
    .split('\n')
    .filter((line) => names.has(line.split(' ').at(-1) ?? ''));
  files.push(
    cpioFile(`${base}/modules.dep`, Buffer.from(`${dependencies.join('\n')}\n`)),
    cpioFile(`${base}/modules.alias`, Buffer.from(`${aliases.join('\n')}\n`)),
  );
  return [...foldersOf(files.map(({ path }) => path)), ...files];
}

/** The folders of paths, each before those in it. */
function foldersOf(paths: readonly string[]): readonly CpioEntry[] {
  const folders = new Set(
    paths.flatMap((path) => {
      const parts = path.split('/').slice(0, -1);
      return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    }),
  );
  return [...folders].toSorted().map(cpioFolder);
}

function plain(path: string): string {
  return path.replace(/\.ko\.(?:gz|xz|zst)$/, '.ko');
}

/** As aliases name it. */
function moduleName(path: string): string {
  return (path.split('/').at(-1) ?? '').replace(/\.ko(?:\..*)?$/, '').replaceAll('-', '_');
}

/** The small modprobe of the rescue system does not read all forms of compression. */
async function readModule(file: string): Promise<Buffer> {
  if (file.endsWith('.gz')) return promisify(gunzip)(await readFile(file));
  const program = file.endsWith('.xz') ? 'xz' : file.endsWith('.zst') ? 'zstd' : undefined;
  if (program === undefined) return readFile(file);
  try {
    const { stdout } = await promisify(execFile)(program, ['-dc', file], {
      encoding: 'buffer',
      maxBuffer,
      env: childEnvironment(),
    });
    return stdout;
  } catch (error) {
    throw new RescueError(
      (error as NodeJS.ErrnoException).code === 'ENOENT'
        ? `${file} is compressed: install ${program} (Debian: package ${packages[program]})`
        : `${file} cannot be unpacked by ${program}; install the kernel package again: ${(error as Error).message}`,
      { cause: error },
    );
  }
}
