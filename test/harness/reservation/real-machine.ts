import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Client, utils, type ConnectConfig } from 'ssh2';
import type { Stack } from '../stack.js';
import { until } from '../until.js';

/** Why there can be no machines with accounts here; undefined where there can. */
export const unable =
  process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/sbin/sshd')
    ? undefined
    : 'sandboxes with accounts need Linux, root and OpenSSH';

/** A sandbox with OpenSSH and root's password: what an administrator lists for provider static. */
export interface RealMachine {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly hostKey: string;
}

export interface Credential {
  readonly user: string;
  readonly password?: string;
  readonly privateKey?: string;
}

export type Place = Pick<RealMachine, 'address' | 'port'>;

/** Boots a machine that no account of the stack created. */
export async function bootMachine(stack: Stack, name: string): Promise<RealMachine> {
  const request = {
    key: `by-hand/${name}/1`,
    token: randomUUID(),
    hostname: name,
    flavor: 'tiny',
    image: 'host',
  };
  const { id } = (await stack.service.call('POST', '/v1/machines', request)) as { readonly id: string };
  return until(`machine ${name} runs`, async () => {
    const machine = (await stack.service.call('GET', `/v1/machines/${id}`)) as RealMachine & {
      readonly state: string;
    };
    const { state, address, port, user, password, hostKey } = machine;
    return state === 'running' && { name, address, port, user, password, hostKey };
  });
}

/**
 * Runs a line over a new SSH connection, and gives what it printed.
 * @throws Error where the login is refused
 */
export function runAs(
  { address, port }: Place,
  { user, ...credential }: Credential,
  line: string,
): Promise<string> {
  const config: ConnectConfig = { host: address, port, username: user, ...credential };
  return new Promise((resolve, reject) => {
    const ssh = new Client();
    ssh
      .on('error', reject)
      .on('ready', () => {
        ssh.exec(line, (error, channel) => {
          if (error) return reject(error);
          let output = '';
          channel.on('data', (chunk: Buffer) => {
            output += chunk.toString();
          });
          channel.stderr.on('data', (chunk: Buffer) => {
            output += chunk.toString();
          });
          channel.on('close', () => {
            ssh.end();
            resolve(output.trim());
          });
        });
      })
      .connect(config);
  });
}

/** Whether the machine's SSH server lets somebody in; an answer other than yes or no is an error. */
export async function isLetIn(place: Place, credential: Credential): Promise<boolean> {
  try {
    await runAs(place, credential, 'true');
    return true;
  } catch (error) {
    if (error instanceof Error && /authentication methods failed/.test(error.message)) return false;
    throw error;
  }
}

/** A key pair in OpenSSH's form. */
export function makeKeyPair(): { readonly publicKey: string; readonly privateKey: string } {
  const { public: publicKey, private: privateKey } = utils.generateKeyPairSync('ed25519');
  return { publicKey, privateKey };
}
