import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../../../src/config/index.js';
import { freePort } from '../../../../harness/free-port.js';
import { until } from '../../../../harness/until.js';

/** The file system of a small Debian with an SSH server. */
export const imageFile = join(loadConfig({ cwd: '/' }).cacheFolder, 'node-image.tar');

/** Why no containers can be tried here; undefined when they can. */
export function podmanIsMissing(): string | undefined {
  if (!existsSync('/usr/bin/podman')) return 'Podman is not installed: npm run setup:extras';
  if (!existsSync(imageFile)) return 'the image of the container tests is not made: npm run setup:extras';
  return process.getuid?.() === 0 ? undefined : 'Podman is tried as root alone';
}

export interface Podman {
  /** The API over TCP on loopback, and over its socket. */
  readonly http: string;
  readonly socket: string;
  readonly network: string;
  /** Has an SSH server and no host keys. */
  readonly image: string;
  readonly folder: string;
  /** A program that takes podman's words, for the same containers. */
  readonly command: string;
  /** Runs the podman command on the same containers. */
  run(...words: readonly string[]): string;
  close(): Promise<void>;
}

/** A Podman with storage, network and sockets of its own, of which nothing is left in the end. */
export async function startPodman(): Promise<Podman> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-podman-'));
  const network = `heddle${process.pid}`;
  mkdirSync(join(folder, 'networks'));
  // What a machine without systemd and without the right to raise limits allows.
  writeFileSync(
    join(folder, 'containers.conf'),
    '[containers]\ndefault_ulimits = ["nofile=4096:4096","nproc=4096:4096"]\n[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n',
  );
  const environment = {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: folder,
    CONTAINERS_CONF: join(folder, 'containers.conf'),
  };
  const global = [
    '--root',
    join(folder, 'storage'),
    '--runroot',
    join(folder, 'run'),
    '--tmpdir',
    join(folder, 'tmp'),
    '--storage-driver',
    'overlay',
    '--network-config-dir',
    join(folder, 'networks'),
  ];
  const run = (...words: readonly string[]): string =>
    execFileSync('/usr/bin/podman', [...global, ...words], {
      env: environment,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const command = join(folder, 'podman');
  const words = Object.entries(environment)
    .filter(([name]) => name !== 'PATH')
    .map(([name, value]) => `${name}='${value}'`);
  writeFileSync(
    command,
    `#!/bin/sh\nexec env ${words.join(' ')} /usr/bin/podman ${global.map((word) => `'${word}'`).join(' ')} "$@"\n`,
    { mode: 0o755 },
  );
  const servers: ReturnType<typeof spawn>[] = [];
  const close = async (): Promise<void> => {
    run('rm', '--all', '--force', '--time', '0');
    for (const server of servers) {
      if (server.exitCode !== null || server.signalCode !== null) continue;
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
    }
    run('network', 'rm', '--force', network);
    run('rmi', '--all', '--force');
    // Where the addresses of the network were kept.
    rmSync(join('/var/lib/cni/networks', network), { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    run('network', 'create', network);
    run('import', '--quiet', imageFile, 'localhost/node:test');
    const socket = join(folder, 'podman.sock');
    const port = await freePort();
    for (const address of [`unix://${socket}`, `tcp://127.0.0.1:${port}`]) {
      servers.push(
        spawn('/usr/bin/podman', [...global, 'system', 'service', '--time=0', address], {
          env: environment,
          stdio: 'ignore',
        }),
      );
    }
    const http = `http://127.0.0.1:${port}`;
    await until(
      'podman to answer',
      async () => existsSync(socket) && (await fetch(`${http}/_ping`).catch(() => undefined))?.ok,
    );
    return { http, socket, network, image: 'localhost/node:test', folder, command, run, close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}
