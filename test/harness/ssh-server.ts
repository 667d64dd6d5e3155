import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo, Socket } from 'node:net';
import ssh2, { type Algorithms, type Connection, type KexAlgorithm, type ServerChannel } from 'ssh2';
import type { SshTarget } from '../../src/ssh/target.js';
import { processesWith } from './processes.js';

/**
 * What a node of a test does differently from a well-behaved one. Changed while it runs, it holds for the
 * next command.
 */
export interface Faults {
  /** Never tells an exit status. */
  noExitStatus?: boolean;
  /** Cuts the connection after so many bytes of output. */
  cutAfterBytes?: number;
  /** Cuts the connection after so many bytes of input. */
  cutAfterInput?: number;
  /** Answers no channel request. */
  stall?: boolean;
  /** Lets nobody in by a private key. */
  refusesKeys?: boolean;
  /** Printed before every command, as a login script does. */
  noise?: string;
  /** The login shell; `/bin/sh -c` unless given. */
  loginShell?: readonly string[];
}

export interface TestNode {
  readonly target: SshTarget & { readonly hostKey: string };
  readonly home: string;
  readonly runs: string;
  readonly faults: Faults;
  readonly env: Record<string, string>;
  /** How many connections logged in, and how many are open. */
  readonly connections: { total: number; open: number };
  /** Passwords that clients sent, right or wrong. */
  readonly passwords: string[];
  /** Commands that were started. */
  readonly commands: string[];
  /** Whether strict key exchange was offered to the last connection. */
  offeredStrict(): boolean;
  /** Cuts every connection; what runs goes on. */
  cut(): void;
  /** Everything that the sessions run is killed, as in a power cut. */
  killAll(): void;
  close(): Promise<void>;
}

export interface NodeOptions {
  readonly home?: string;
  readonly env?: Record<string, string>;
  readonly hostKeys?: readonly string[];
  readonly algorithms?: Algorithms;
  readonly password?: string;
  /** As servers were before 2024: knows nothing of strict key exchange. */
  readonly withoutStrict?: boolean;
  /** 127.0.0.1 and a free port unless given. */
  readonly listen?: { readonly host: string; readonly port: number };
}

export function makeHostKey(type: 'ed25519' | 'ecdsa' | 'rsa' = 'ed25519'): {
  readonly private: string;
  readonly line: string;
} {
  const pair =
    type === 'rsa'
      ? ssh2.utils.generateKeyPairSync('rsa', { bits: 2048 })
      : type === 'ecdsa'
        ? ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 })
        : ssh2.utils.generateKeyPairSync('ed25519');
  // One in a hundred of ssh2's ed25519 keys cannot be read again.
  return ssh2.utils.parseKey(pair.private) instanceof Error
    ? makeHostKey(type)
    : { private: pair.private, line: pair.public.trim() };
}

const defaultKey = makeHostKey();

/** A real SSH server on loopback that runs real commands, as the current user, in a home of its own. */
export async function startNode(options: NodeOptions = {}): Promise<TestNode> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'heddle-node-'));
  const faults: Faults = {};
  const env: Record<string, string> = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ...options.env,
    HOME: home,
  };
  const connections = { total: 0, open: 0 };
  const commands: string[] = [];
  const passwords: string[] = [];
  const sockets = new Set<Connection>();
  const children = new Set<ChildProcess>();
  const password = options.password ?? 'let me in';
  const hostKeys = options.hostKeys ?? [defaultKey.private];
  const algorithms = options.withoutStrict === true ? withoutStrict(options.algorithms) : options.algorithms;
  let last: Connection | undefined;
  const server = new ssh2.Server({ hostKeys: [...hostKeys], algorithms });

  server.on('connection', (client) => {
    sockets.add(client);
    last = client;
    socketOf(client)?.setNoDelay(true);
    client.on('error', () => {
      /* Cut connections are what these tests are about. */
    });
    client.on('close', () => {
      if (sockets.delete(client) && loggedIn) connections.open--;
    });
    let loggedIn = false;
    client.on('authentication', (context) => {
      if (context.method === 'password') passwords.push(context.password);
      if (context.method === 'password' && context.password === password) return context.accept();
      if (context.method === 'publickey' && faults.refusesKeys !== true) return context.accept();
      return context.reject(['password', 'publickey']);
    });
    client.on('ready', () => {
      loggedIn = true;
      connections.total++;
      connections.open++;
    });
    client.on('session', (accept) => {
      if (faults.stall === true) return;
      const session = accept();
      session.on('pty', (acceptPty) => acceptPty?.());
      session.on('exec', (acceptExec, _reject, info) => {
        commands.push(info.command);
        serve(acceptExec(), [...(faults.loginShell ?? ['/bin/sh', '-c']), info.command], client);
      });
      session.on('shell', (acceptShell) => serve(acceptShell(), ['/bin/sh'], client));
    });
  });

  function serve(channel: ServerChannel, argv: readonly string[], client: Connection): void {
    const { noExitStatus, cutAfterBytes, cutAfterInput, noise } = faults;
    if (noise !== undefined) channel.write(noise);
    const [program = '/bin/sh', ...args] = argv;
    // A session of its own, as sshd gives to each command.
    const child = spawn(program, args, { cwd: home, env, detached: true, stdio: 'pipe' });
    children.add(child);
    let sent = 0;
    let received = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      sent += chunk.length;
      if (cutAfterBytes !== undefined && sent > cutAfterBytes) socketOf(client)?.destroy();
    });
    channel.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (cutAfterInput !== undefined && received >= cutAfterInput) socketOf(client)?.destroy();
    });
    child.stdout.pipe(channel, { end: false });
    child.stderr.pipe(channel.stderr, { end: false });
    channel.pipe(child.stdin);
    child.stdin.on('error', () => {
      /* The command read no more of its input. */
    });
    channel.on('error', () => {
      /* As for the connection. */
    });
    channel.on('close', () => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    });
    child.on('error', () => channel.close());
    child.on('exit', () => children.delete(child));
    child.on('close', (code, signal) => {
      if (noExitStatus !== true) {
        if (code !== null) channel.exit(code);
        else if (signal !== null) channel.exit(signal.replace('SIG', ''));
      }
      channel.end();
    });
  }

  const { host } = options.listen ?? { host: '127.0.0.1' };
  await new Promise<void>((resolve) => {
    server.listen(options.listen?.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const runs = join(home, '.heddle/runs');
  const cut = () => {
    for (const client of sockets) socketOf(client)?.destroy();
  };
  const killAll = () => {
    for (const child of children) killGroup(child.pid);
    for (const run of listFolders(runs))
      for (const file of ['pid', 'starts']) killGroup(groupOf(join(runs, run, file)));
    // Scripts whose records a test removed.
    for (const { pid } of processesWith(join(home, '.heddle'))) killGroup(pid);
  };
  return {
    target: { host, port, user: 'tester', password, hostKey: publicLine(hostKeys[0] ?? '') },
    home,
    runs,
    faults,
    env,
    connections,
    commands,
    passwords,
    offeredStrict: () => last !== undefined && offerOf(last).includes('kex-strict-s-v00@openssh.com'),
    cut,
    killAll,
    async close() {
      killAll();
      cut();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      // What was killed just now may still write there.
      for (const folder of outsideOf(runs)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      if (options.home === undefined) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Where the claims of runs in a folder are recorded outside of the home. */
export function outsideOf(runs: string): readonly string[] {
  return ['/var/tmp', '/dev/shm'].map((place) =>
    join(place, `heddle-${userInfo().uid}`, `runs-of${runs.replaceAll('/', '-')}`),
  );
}

export function publicLine(privateKey: string): string {
  const key = ssh2.utils.parseKey(privateKey);
  if (key instanceof Error) throw key;
  return `${key.type} ${key.getPublicSSH().toString('base64')}`;
}

/**
 * ssh2's server always adds its word for strict key exchange to this list; a list that takes nothing more
 * leaves it out.
 */
function withoutStrict(algorithms: Algorithms = {}): Algorithms {
  const kex: KexAlgorithm[] = ['curve25519-sha256'];
  kex.concat = () => kex;
  return { ...algorithms, kex };
}

function offerOf(client: Connection): readonly string[] {
  const { _offer: offer } = Reflect.get(client, '_protocol') as {
    readonly _offer: { readonly lists: { readonly kex: { readonly array: readonly string[] } } };
  };
  return offer.lists.kex.array;
}

/** ssh2 tells nobody its socket, and a cut connection must not say goodbye. */
function socketOf(client: Connection): Socket | undefined {
  return Reflect.get(client, '_sock') as Socket | undefined;
}

function listFolders(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The process group of a supervisor or script, whose number and start time are a file's first words. */
function groupOf(file: string): number | undefined {
  try {
    const [pid, started] = readFileSync(file, 'utf8').split(/\s/);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return words[19] === started ? Number(words[2]) : undefined;
  } catch {
    return undefined;
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
