import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { requireProgram } from '../config/run-program.js';
import { cpioFile, cpioFolder, writeCpio } from './cpio.js';
import { readModules } from './kernel-modules.js';
import { RescueError } from './rescue-error.js';

export interface RescueOptions {
  /** A tree with a kernel in `boot`, its modules, and a static busybox: `/`, or unpacked packages. */
  readonly from: string;
  /** Version of the kernel. Default: the newest. */
  readonly kernel?: string | undefined;
  /** A tree of further files, such as `lib/firmware`. */
  readonly add?: string | undefined;
  /** The folder that gets `kernel` and `initramfs`. */
  readonly output: string;
}

export interface Rescue {
  readonly kernel: string;
  readonly initramfs: string;
  readonly version: string;
  /** Of both files together. */
  readonly bytes: number;
}

/**
 * Makes the system that a machine boots from the network to have its disk written: a kernel,
 * and an initramfs with busybox and drivers. What it does then comes from the server that
 * writes the image, so an old rescue system works with a new Heddle.
 */
export async function buildRescue({ from, kernel, add, output }: RescueOptions): Promise<Rescue> {
  const version = kernel ?? (await newestKernel(from));
  const image = join(from, 'boot', `vmlinuz-${version}`);
  const modules = [join(from, 'lib/modules', version), join(from, 'usr/lib/modules', version)].find((path) =>
    existsSync(path),
  );
  if (!existsSync(image) || modules === undefined)
    throw new RescueError(
      `kernel ${version} and its modules are not in ${from}: install a kernel package, such as linux-image-amd64`,
    );
  const busybox = await findBusybox(from);
  if (!existsSync(join(modules, 'modules.dep')))
    await requireProgram(busybox, [
      'depmod',
      '-b',
      modules.slice(0, modules.indexOf('/lib/modules')),
      version,
    ]);
  const initramfs = writeCpio([
    ...['bin', 'dev', 'proc', 'sys', 'tmp', 'etc'].map(cpioFolder),
    ...(await readModules(modules, version)),
    ...(add === undefined ? [] : await readTree(add)),
    cpioFile('bin/busybox', await readFile(busybox), 0o755),
    cpioFile('init', await readFile(new URL('./init', import.meta.url)), 0o755),
    cpioFile('dhcp', await readFile(new URL('./dhcp', import.meta.url)), 0o755),
  ]);
  const files = { kernel: await readFile(image), initramfs: await promisify(gzip)(initramfs) };
  await mkdir(output, { recursive: true });
  for (const [name, data] of Object.entries(files)) {
    // A server may be reading the earlier ones.
    await writeFile(join(output, `${name}.part`), data);
    await rename(join(output, `${name}.part`), join(output, name));
  }
  return {
    kernel: join(output, 'kernel'),
    initramfs: join(output, 'initramfs'),
    version,
    bytes: files.kernel.length + files.initramfs.length,
  };
}

async function newestKernel(from: string): Promise<string> {
  const names = await readdir(join(from, 'boot')).catch(() => []);
  const versions = names.flatMap((name) => /^vmlinuz-(\d.*)$/.exec(name)?.[1] ?? []);
  const newest = versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
  if (newest === undefined)
    throw new RescueError(
      `${join(from, 'boot')} has no kernel: install one, or unpack its package into a folder and name that with --from`,
    );
  return newest;
}

async function findBusybox(from: string): Promise<string> {
  const path = ['bin/busybox', 'usr/bin/busybox', 'bin/busybox.static']
    .map((name) => join(from, name))
    .find((file) => existsSync(file));
  if (path === undefined)
    throw new RescueError(`${from} has no bin/busybox: install busybox-static, or unpack it there`);
  const program = await readFile(path);
  if (!isElf64(program))
    throw new RescueError(
      `${path} is not a 64-bit ELF program: install busybox-static of the architecture of the kernel, or unpack it there`,
    );
  if (needsLoader(program))
    throw new RescueError(`${path} needs shared libraries: install busybox-static in its place`);
  return path;
}

/** With a whole table of program headers, in the byte order of the processors that are supported. */
function isElf64(program: Buffer): boolean {
  if (program.length < 64 || program.toString('latin1', 0, 6) !== '\u007FELF\u0002\u0001') return false;
  const end = Number(program.readBigUInt64LE(0x20)) + program.readUInt16LE(0x36) * program.readUInt16LE(0x38);
  return program.readUInt16LE(0x36) >= 4 && end <= program.length;
}

/** Whether an ELF program of 64 bits has an interpreter: a program header of type 3. */
function needsLoader(program: Buffer): boolean {
  const at = Number(program.readBigUInt64LE(0x20));
  const [size, count] = [program.readUInt16LE(0x36), program.readUInt16LE(0x38)];
  return Array.from({ length: count }, (_, index) => program.readUInt32LE(at + index * size)).includes(3);
}

async function readTree(folder: string): Promise<ReturnType<typeof cpioFile>[]> {
  const names = (await readdir(folder, { recursive: true })).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const found = await stat(join(folder, name));
      return found.isDirectory()
        ? cpioFolder(name)
        : cpioFile(name, await readFile(join(folder, name)), found.mode & 0o777);
    }),
  );
}
