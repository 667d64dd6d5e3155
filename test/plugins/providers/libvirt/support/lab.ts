import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadConfig } from '../../../../../src/config/index.js';
import { sshdIsMissing } from '../../../../harness/sshd.js';
import { libvirtIsMissing, startLibvirtd, type Libvirtd } from './libvirtd.js';

/** A disk that boots, as tools/boot-image.mjs makes it. */
const bootImage = join(loadConfig({ cwd: '/' }).cacheFolder, 'boot-image-1.qcow2');

/** Why no virtual machine can be booted here; undefined when one can. */
export function labIsMissing(): string | undefined {
  if (process.arch !== 'x64') return 'the disk that is booted is one for x86_64';
  if (!existsSync(bootImage) || !existsSync('/usr/sbin/dnsmasq'))
    return 'the disk that is booted is not made: npm run setup:extras';
  return libvirtIsMissing() ?? sshdIsMissing();
}

export interface Lab {
  readonly libvirtd: Libvirtd;
  /** An account of provider type libvirt, as heddle.yaml has it. Its machines are behind a jump host. */
  readonly account: object;
  /** The volumes of its pool. */
  volumes(): readonly string[];
  /** Ids of its domains. */
  domains(): readonly string[];
  /** Runs a line on a machine, by the system's ssh, which trusts the given host key alone. */
  run(address: string, hostKey: string, line: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * A libvirt whose machines boot for real: a network with DHCP that nothing outside of it reaches but through
 * a jump host, and a pool with an image.
 */
export async function openLab(): Promise<Lab> {
  const libvirtd = await startLibvirtd();
  const { folder, qemu, inNetwork } = libvirtd;
  const virsh = (...words: readonly string[]): string => libvirtd.virsh(qemu, ...words);
  const pool = join(folder, 'pool');
  mkdirSync(pool);
  copyFileSync(bootImage, join(pool, 'system@1'));
  virsh('pool-create-as', 'disks', 'dir', '--target', pool);
  const network = join(folder, 'network.xml');
  writeFileSync(
    network,
    `<network><name>lab</name><bridge name='heddle1' stp='off'/><ip address='192.168.77.1' netmask='255.255.255.0'><dhcp><range start='192.168.77.10' end='192.168.77.99'/></dhcp></ip></network>`,
  );
  virsh('net-create', network);
  const keyFile = (name: string): string => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
    return join(folder, name);
  };
  const [login, jumpLogin, jumpHost] = [keyFile('login'), keyFile('jump-login'), keyFile('jump-host')];
  writeFileSync(join(folder, 'host-key-secret'), randomBytes(32).toString('hex'), { mode: 0o600 });
  const publicOf = (file: string): string => readFileSync(`${file}.pub`, 'utf8').trim();
  const jump = await openJumpHost(folder, inNetwork, jumpHost, jumpLogin);
  return {
    libvirtd,
    account: {
      type: 'libvirt',
      hostKeys: 'provided',
      hardware: { small: '1x256m' },
      images: { system: 'system@1' },
      fields: {
        uri: qemu,
        pool: 'disks',
        network: 'lab',
        hypervisor: 'qemu',
        shutDownSeconds: 240,
        hostKeySecret: { secret: `file:${join(folder, 'host-key-secret')}` },
        privateKey: { secret: `file:${login}` },
        publicKeys: [publicOf(login)],
      },
      jump: {
        host: '127.0.0.1',
        port: jump.port,
        user: 'root',
        key: { secret: `file:${jumpLogin}` },
        hostKey: publicOf(jumpHost).split(' ').slice(0, 2).join(' '),
      },
    },
    volumes: () =>
      virsh('vol-list', 'disks')
        .split('\n')
        .flatMap((line) => line.trim().split(/\s+/)[0] || []),
    domains: () =>
      virsh('list', '--all', '--uuid')
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    run: async (address, hostKey, line) => {
      const known = join(folder, `known-${address}`);
      writeFileSync(known, `${address} ${hostKey}\n`);
      const options = [
        '-F',
        'none',
        '-i',
        login,
        '-o',
        'BatchMode=yes',
        '-o',
        'StrictHostKeyChecking=yes',
        '-o',
        `UserKnownHostsFile=${known}`,
        '-o',
        'GlobalKnownHostsFile=/dev/null',
      ];
      return (
        await promisify(execFile)('nsenter', [inNetwork, 'ssh', ...options, `root@${address}`, line])
      ).stdout.trim();
    },
    close: async () => {
      await jump.close();
      await libvirtd.close();
    },
  };
}

/**
 * OpenSSH itself, one process for each connection: it is reached on loopback, and reaches what is in the
 * machines' network.
 */
async function openJumpHost(
  folder: string,
  inNetwork: string,
  hostKey: string,
  login: string,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const config = join(folder, 'jump-config');
  writeFileSync(
    config,
    [
      `HostKey ${hostKey}`,
      `AuthorizedKeysFile ${login}.pub`,
      'StrictModes no',
      'UsePAM no',
      'PermitRootLogin yes',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'UseDNS no',
      'AllowTcpForwarding yes',
      '',
    ].join('\n'),
  );
  const served = new Set<ReturnType<typeof spawn>>();
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => undefined);
    const child = spawn('nsenter', [inNetwork, '/usr/sbin/sshd', '-i', '-f', config], {
      stdio: [socket, socket, 'ignore'],
    });
    served.add(child);
    child.once('exit', () => served.delete(child));
    // It has the connection; this process is to let go of it.
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const child of served) child.kill('SIGTERM');
      await closed;
    },
  };
}
