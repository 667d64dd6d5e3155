import { readFileSync } from 'node:fs';
import type { Json } from '../model/json.js';
import { readPublicKey, type MachineAccess } from '../model/machine/access.js';
import { unsafeText, unsafeUser } from '../model/safe-text.js';
import { CliError } from './errors.js';
import type { Output } from './output.js';
import { wordsForFileError } from '../schema/read-text.js';

/** How the user of a machine logs in, for people. */
export function printAccess(output: Output, machine: string, access: MachineAccess): void {
  const { address, port, hostKey, login } = access;
  if (login === undefined) {
    output.line(`${machine}: reserved without a login`);
    return;
  }
  const { user, password } = login;
  output.line(`${machine}: ${sshCommand({ user, address, port })}`);
  output.line(password === undefined ? '  with your own key' : `  password ${password}`);
  if (typeof hostKey === 'string') output.line(`  host key ${hostKey}`);
  else if (hostKey !== null) output.line('  host key ?');
}

/**
 * A command to copy into a shell. A part that would be more than one word there, or an option, is shown as
 * `?`.
 */
export function sshCommand({
  user,
  address,
  port,
}: Readonly<Record<'user' | 'address' | 'port', Json>>): string {
  const login =
    typeof user === 'string' && unsafeUser(user) === undefined && !/[\\$]/.test(user) ? user : '?';
  const isHost =
    typeof address === 'string' && unsafeText(address) === undefined && /^[\w.:-]+$/.test(address);
  const isPort = typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536;
  return `ssh -p ${isPort ? port : '?'} ${login}@${isHost ? address : '?'}`;
}

/** Reads the public key in a file such as ~/.ssh/id_ed25519.pub. A private key is refused, and never sent. */
export function readPublicKeyFile(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new CliError('Usage', `--key ${file} cannot be read: ${wordsForFileError(cause)}`, { cause });
  }
  const key = readPublicKey(text);
  if (key !== undefined) return key;
  const right = 'one line with type and key, as in a .pub file';
  throw new CliError('Usage', `--key ${file} is no public key of OpenSSH: ${right}`);
}
