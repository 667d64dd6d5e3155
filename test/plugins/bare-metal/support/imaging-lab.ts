import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { socketFolder } from '../../../../src/plugins/bare-metal/imaging/gateway.js';
import { loadConfig } from '../../../../src/config/index.js';
import { noEmulators, startControllers, type Controllers } from '../../../harness/bmc/racks.js';
import { runHeddle } from '../../../harness/cli/run-heddle.js';
import { freePort } from '../../../harness/free-port.js';
import { sshdIsMissing } from '../../../harness/sshd.js';
import { startHypervisor, type Hypervisor, type VirtualMachine } from './hypervisor.js';
import { makeSmallSystem } from './small-system.js';

const parts = join(loadConfig({ cwd: '/' }).cacheFolder, 'boot-parts-1');
const megabyte = 2 ** 20;

/** Why no machine can be booted here; undefined if one can. */
export function labIsMissing(): string | undefined {
  if (process.arch !== 'x64') return 'the rescue system of the tests is one for x86_64';
  if (!existsSync(parts) || spawnSync('qemu-system-x86_64', ['--version']).status !== 0)
    return 'npm run setup:extras has not been run';
  return noEmulators ?? sshdIsMissing();
}

export interface LabMachine {
  readonly name: string;
  readonly diskMegabytes: number;
  /** Boots nothing from the network. */
  readonly unplugged?: true;
}

export interface ImagingLab {
  /** Provider accounts: `rack`, and `hasty`, which waits six seconds for a machine that boots. */
  readonly accounts: Readonly<Record<string, object>>;
  /** Files of the images `small@1`, which boots, and `noise@1`. */
  readonly small: string;
  readonly noise: string;
  readonly hypervisor: Hypervisor;
  diskOf(machine: string): string;
  commands(machine: string): Promise<readonly string[]>;
  console(machine: string): Promise<string>;
  stop(): Promise<void>;
}

/** Machines of QEMU with controllers, and accounts that write images to them. */
export async function openImagingLab(distPath: string, machines: readonly LabMachine[]): Promise<ImagingLab> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-imaging-lab-'));
  const [images, rescue, login] = [join(folder, 'images'), join(folder, 'rescue'), join(folder, 'login')];
  await mkdir(images);
  const made = await runHeddle(['image', 'rescue', rescue, '--from', parts], { distPath });
  if (made.code !== 0) throw new Error(made.stderr);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', login]);
  const [small, noise] = [join(images, 'small@1.raw'), join(images, 'noise@1.raw')];
  const hostKey = makeSmallSystem({
    folder,
    rescue,
    login: await readFile(`${login}.pub`, 'utf8'),
    file: small,
  });
  await writeFile(noise, randomBytes(33 * megabyte));
  const port = await freePort();
  const diskOf = (name: string): string => join(folder, `disk-of-${name}`);
  const virtual: VirtualMachine[] = [];
  for (const [index, { name, diskMegabytes, unplugged }] of machines.entries()) {
    await writeFile(diskOf(name), '');
    await truncate(diskOf(name), diskMegabytes * megabyte);
    virtual.push({
      name,
      mac: `52:54:00:aa:bb:0${index}`,
      diskFile: diskOf(name),
      sshPort: await freePort(),
      ...(unplugged === undefined ? { bootUrl: `http://10.0.2.2:${port}/boot/\${net0/mac}` } : {}),
    });
  }
  const hypervisor = await startHypervisor(folder, virtual);
  const controllers: Controllers = await startControllers(
    folder,
    hypervisor.endpoint,
    'none',
    virtual.map(({ name }) => ({ name, id: name })),
    { boots: true },
  );
  const account = (bootMinutes: number): object => ({
    type: 'ipmi',
    fields: {
      machines: virtual.map(({ name, mac, sshPort }) => ({
        name,
        address: '127.0.0.1',
        port: sshPort,
        key: { secret: `file:${login}` },
        hostKey,
        mac,
      })),
      controllers: controllers.fields,
      imaging: { images, rescue, listen: `127.0.0.1:${port}`, bootMinutes },
      readEveryMs: 50,
      settleSeconds: 20,
    },
  });
  return {
    accounts: { rack: account(5), hasty: account(0.1) },
    small,
    noise,
    hypervisor,
    diskOf,
    commands: (name) => controllers.commands(name),
    console: (name) => readFile(join(folder, `console-of-${name}`), 'utf8'),
    stop: async () => {
      await hypervisor.stop();
      await controllers.stop();
      for (const left of [folder, await socketFolder(port)]) await rm(left, { recursive: true, force: true });
    },
  };
}
