import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment } from '../../config/child-environment.js';
import type { Library } from '../image/library.js';
import type { MachineRecord } from '../machine.js';
import { isRunning, markOf } from '../../detached/process-mark.js';
import { markerVariable } from '../processes.js';
import { loginShell, systemPath } from './directory.js';
import { listenForSsh, makeDisk, writeAuthorizedKeys, type Booted, type Kind } from './kind.js';
import { sandboxInit } from './sandbox-init.js';

const bootLimitMs = 20_000;
const namespaces = '--mount --uts --ipc --pid --fork --kill-child --propagation private'.split(' ');
const sshdPaths = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/usr/bin/sshd', '/sbin/sshd'];

export interface SandboxOptions {
  readonly markerStart: string;
  readonly dataFolder: string;
  readonly library: Library;
  /** OpenSSH's server; absent: our own SSH server, whose commands enter the sandbox. */
  readonly sshd: string | undefined;
}

/** Path of OpenSSH's server, where it is installed. */
export function findSshd(): string | undefined {
  return sshdPaths.find((path) => existsSync(path));
}

/**
 * A machine as mount, pid, uts and ipc namespaces over an overlay of the host's root. Linux and root only. It
 * shares kernel and network with the host and is not a security boundary.
 */
export function sandboxKind(options: SandboxOptions): Kind {
  const build: Kind['build'] = (machine, folder) =>
    makeDisk(folder, (disk) => buildDisk(machine, disk, options.library));
  return {
    name: 'sandbox',
    user: 'root',
    build,
    boot: async (machine, folder) => boot(machine, await build(machine, folder), options),
    console: (folder) => readConsole(join(folder, 'disk')),
  };
}

/** Holds the overlay's upper layer, the home folders, which are mounts of their own, and the host key. */
async function buildDisk(machine: MachineRecord, disk: string, library: Library): Promise<void> {
  for (const name of ['upper', 'work', 'mnt', 'home', 'root'])
    mkdirSync(join(disk, name), { mode: name === 'root' ? 0o700 : 0o755 });
  await library.copyTo(disk, machine.image, 'sandbox');
  writeAuthorizedKeys(join(disk, 'root'), machine.publicKeys);
  writeFileSync(join(disk, 'host-key'), machine.hostKey.private, { mode: 0o600 });
}

async function boot(machine: MachineRecord, disk: string, options: SandboxOptions): Promise<Booted> {
  const started = startInit(machine, disk, options);
  const exited = new Promise<string>((resolve) => {
    started.once('exit', (code, signal) =>
      resolve(`its first process ended (${signal ?? `exit code ${code}`})`),
    );
    started.once('error', (error) =>
      resolve(`unshare, a part of util-linux, could not be started (${error.message})`),
    );
  });
  try {
    const initPid = await readyPid(started, exited, disk);
    if (options.sshd === undefined)
      return await serveFromOutside(machine, disk, started, initPid, exited, options);
    await waitForSshBanner(machine.address, machine.port, bootLimitMs, exited);
    return { port: machine.port, died: exited, halt: () => halt(started, initPid, exited) };
  } catch (error) {
    started.kill('SIGKILL');
    await exited;
    throw error;
  }
}

function startInit(machine: MachineRecord, disk: string, options: SandboxOptions): ChildProcess {
  const script = join(disk, 'init.sh');
  writeFileSync(script, sandboxInit, { mode: 0o600 });
  const words = [
    disk,
    machine.hostname,
    options.dataFolder,
    process.execPath,
    '/',
    machine.address,
    String(machine.port),
    options.sshd ?? '',
  ];
  const output = openSync(consoleFile(disk), 'w', 0o600);
  try {
    const child = spawn('unshare', [...namespaces, '/bin/sh', script, ...words], {
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'pipe', output],
      env: childEnvironment({ set: environmentOf(machine, options) }),
    });
    child.stdin?.on('error', () => undefined).end(`${machine.password}\n`);
    return child;
  } finally {
    closeSync(output);
  }
}

/** Most of a console that is shown, in bytes. */
const longestConsole = 64 * 1024;

/** What the first process of the sandbox, and the SSH server, wrote to their error output. */
function readConsole(disk: string): string {
  const file = consoleFile(disk);
  if (!existsSync(file)) return '';
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const start = Math.max(0, size - longestConsole);
    const end = Buffer.alloc(size - start);
    return end.toString('utf8', 0, readSync(descriptor, end, 0, end.length, start));
  } finally {
    closeSync(descriptor);
  }
}

function consoleFile(disk: string): string {
  return join(disk, 'console.log');
}

function environmentOf(machine: MachineRecord, options: SandboxOptions): Record<string, string> {
  return {
    PATH: systemPath,
    HOME: '/root',
    USER: 'root',
    LOGNAME: 'root',
    SHELL: loginShell(),
    LANG: 'C.UTF-8',
    [markerVariable]: `${options.markerStart}/${machine.id}`,
  };
}

/** Waits for the "ready" line and gives the host's pid of the sandbox's first process. */
async function readyPid(child: ChildProcess, exited: Promise<string>, disk: string): Promise<number> {
  if (!child.stdout) throw new Error('The sandbox has no output to read.');
  const lines = createInterface({ input: child.stdout });
  const ready = new Promise<number>((resolve) => {
    lines.on('line', (line) => {
      const pid = /^ready (\d+)$/.exec(line)?.[1];
      if (pid !== undefined) resolve(Number(pid));
    });
  });
  const outcome = await Promise.race([
    ready,
    exited,
    sleep(bootLimitMs, 'it was not ready in time', { ref: false }),
  ]);
  lines.close();
  if (typeof outcome === 'number') return outcome;
  throw new Error(`the sandbox did not boot, for ${outcome}: ${readConsole(disk).slice(-1_000).trim()}`);
}

/** Without OpenSSH: our server listens outside, and every command enters the sandbox's namespaces. */
async function serveFromOutside(
  machine: MachineRecord,
  disk: string,
  started: ChildProcess,
  initPid: number,
  exited: Promise<string>,
  options: SandboxOptions,
): Promise<Booted> {
  const namespaceOptions = ['--mount', '--uts', '--ipc', '--pid', '--root', '--wd'];
  const server = await listenForSsh(machine, join(disk, 'root'), {
    prefix: ['nsenter', '--target', String(initPid), ...namespaceOptions, '--'],
    cwd: '/',
    environment: environmentOf(machine, options),
  });
  void exited.then(() => server.close());
  const stop = async (): Promise<void> => {
    server.close();
    await halt(started, initPid, exited);
  };
  return { port: server.port, died: exited, halt: stop };
}

/** unshare ignores SIGTERM. SIGKILL also ends its child, and with it all other processes and mounts. */
async function halt(started: ChildProcess, initPid: number, exited: Promise<string>): Promise<void> {
  const init = await markOf(initPid);
  if (started.exitCode === null && started.signalCode === null) started.kill('SIGKILL');
  await exited;
  while (init !== undefined && (await isRunning(init))) await sleep(5);
}

/** Waits for the SSH greeting. @throws Error if the machine ends first or time runs out. */
async function waitForSshBanner(
  address: string,
  port: number,
  limitMs: number,
  ended: Promise<string>,
): Promise<void> {
  let reason: string | undefined;
  void ended.then((text) => {
    reason = text;
  });
  const deadline = Date.now() + limitMs;
  while (Date.now() < deadline) {
    if (await greets(address, port)) return;
    if (reason !== undefined) throw new Error(`The machine did not come up: ${reason}.`);
    await sleep(20);
  }
  throw new Error(`No SSH server answered at ${address}:${port} within ${limitMs} ms.`);
}

function greets(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: 1_000 });
    socket.once('data', (data) => end(data.toString('latin1').startsWith('SSH-')));
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => end(false));
    function end(outcome: boolean): void {
      socket.destroy();
      resolve(outcome);
    }
  });
}
