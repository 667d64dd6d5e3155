import { execFileSync, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2, { type Client, type ClientChannel, type PseudoTtyOptions } from 'ssh2';
import { newHostKey } from '../../../src/local/host-key.js';
import { temporaryFolder, type Machine } from './service.js';

export const systemSsh = '/usr/bin/ssh';
export const hasSystemSsh = existsSync(systemSsh);

export interface Outcome {
  readonly code: number | null;
  readonly signal?: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KeyPair {
  readonly file: string;
  readonly public: string;
}

export function makeKeyPair(): KeyPair {
  const pair = newHostKey();
  const file = join(temporaryFolder(), 'id');
  writeFileSync(file, pair.private, { mode: 0o600 });
  return { file, public: pair.public };
}

/** Runs the system's own ssh, which accepts nothing but the host key that the service told. */
export async function runSystemSsh(
  machine: Machine,
  key: KeyPair,
  args: readonly string[],
  stdin = '',
): Promise<Outcome> {
  const knownHosts = join(temporaryFolder(), 'known_hosts');
  writeFileSync(knownHosts, `[${machine.address}]:${machine.port} ${machine.hostKey}\n`);
  const options = [
    'StrictHostKeyChecking=yes',
    `UserKnownHostsFile="${knownHosts}"`,
    'GlobalKnownHostsFile=none',
    'BatchMode=yes',
    'IdentitiesOnly=yes',
    'LogLevel=ERROR',
  ];
  const words = [
    '-F',
    'none',
    ...options.flatMap((option) => ['-o', option]),
    '-i',
    key.file,
    '-p',
    String(machine.port),
    `${machine.user}@${machine.address}`,
    ...args,
  ];
  const child = spawn(systemSsh, words, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined).end(stdin);
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...output })));
}

/** Logs in by password under the machine's host key. */
export function connect(
  machine: Machine,
  changes: { readonly password?: string; readonly user?: string } = {},
): Promise<Client> {
  const expected = ssh2.utils.parseKey(machine.hostKey);
  if (expected instanceof Error) throw expected;
  const client = new ssh2.Client();
  return new Promise((resolve, reject) => {
    client
      .once('ready', () => resolve(client))
      .once('error', reject)
      .connect({
        host: machine.address,
        port: machine.port,
        username: changes.user ?? machine.user,
        password: changes.password ?? machine.password,
        hostVerifier: (key: Buffer) => key.equals(expected.getPublicSSH()),
        readyTimeout: 20_000,
      });
  });
}

export function openExec(
  client: Client,
  command: string,
  pty: PseudoTtyOptions | false = false,
): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.exec(command, { pty }, (error, channel) => (error ? reject(error) : resolve(channel)));
  });
}

/** Collects what a command says, to its end. */
export function outcomeOf(channel: ClientChannel): Promise<Outcome> {
  const output = { stdout: '', stderr: '' };
  channel.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString();
  });
  channel.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString();
  });
  // Its end comes with `close` too: what came in one packet with the channel's opening was told before anyone
  // could listen.
  return new Promise((resolve) =>
    channel.once('close', (code: number | null = null, signal?: string) =>
      resolve({ code, signal, ...output }),
    ),
  );
}

export async function exec(machine: Machine, command: string): Promise<Outcome> {
  const client = await connect(machine);
  try {
    return await outcomeOf(await openExec(client, command));
  } finally {
    client.end();
  }
}

/** Whether a process with this word in its command line lives on this host (Linux and others). */
export function runs(word: string): boolean {
  const lines = execFileSync('ps', ['-axww', '-o', 'stat=,command='], { encoding: 'utf8' }).split('\n');
  return lines.some((line) => line.includes(word) && !line.startsWith('Z'));
}
