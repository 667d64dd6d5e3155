import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SshTarget } from '../../src/ssh/target.js';
import { freePort } from './free-port.js';
import { outsideOf } from './ssh-server.js';

const program = '/usr/sbin/sshd';

export interface Sshd {
  readonly target: SshTarget;
  /** For runs: the login user's real home is left alone. */
  readonly runsFolder: string;
  readonly folder: string;
  /** Kills the server and every connection that it serves, then starts it again on its port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Why no real OpenSSH server can be tried here; undefined when one can. */
export function sshdIsMissing(): string | undefined {
  if (!existsSync(program)) return "OpenSSH's server is not installed";
  if (existsSync('/run/sshd')) return undefined;
  try {
    mkdirSync('/run/sshd', { mode: 0o755 });
    return undefined;
  } catch {
    return "OpenSSH's server needs its folder /run/sshd, which only root can make";
  }
}

/** A real OpenSSH server on loopback, with keys and configuration of its own, for the current user. */
export async function startSshd(settings: readonly string[] = []): Promise<Sshd> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-sshd-'));
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
  const port = await freePort();
  writeFileSync(
    join(folder, 'config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${join(folder, 'host')}`,
      `AuthorizedKeysFile ${join(folder, 'user.pub')}`,
      `PidFile ${join(folder, 'sshd.pid')}`,
      'StrictModes no',
      'UsePAM no',
      'PermitRootLogin yes',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      ...settings,
      '',
    ].join('\n'),
  );
  let server = await launch(folder, port);
  const stop = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    for (const pid of descendants(server.pid ?? 0)) kill(pid);
    server.kill('SIGKILL');
    await ended;
  };
  return {
    target: {
      host: '127.0.0.1',
      port,
      user: userInfo().username,
      privateKey: readFileSync(join(folder, 'user'), 'utf8'),
      hostKey: readFileSync(join(folder, 'host.pub'), 'utf8').trim(),
    },
    runsFolder: join(folder, 'runs'),
    folder,
    restart: async () => {
      await stop();
      server = await launch(folder, port);
    },
    close: async () => {
      await stop();
      for (const outside of outsideOf(join(folder, 'runs')))
        rmSync(outside, { recursive: true, force: true });
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function launch(folder: string, port: number): Promise<ChildProcess> {
  const server = spawn(program, ['-D', '-e', '-f', join(folder, 'config')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  server.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  while (!(await answers(port))) {
    if (server.exitCode !== null || server.signalCode !== null) throw new Error(`sshd ended: ${said}`);
    await delay(20);
  }
  return server;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** The server's own processes: those it forked for connections, not the commands in their sessions. */
function descendants(parent: number): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,comm='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((row) => row.trim().split(/\s+/));
  const children = rows
    .filter(([, ppid, name]) => Number(ppid) === parent && name?.startsWith('sshd'))
    .map(([pid]) => Number(pid));
  return [...children, ...children.flatMap((child) => descendants(child))];
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
