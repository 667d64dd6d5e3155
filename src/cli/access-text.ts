import { readFileSync } from 'node:fs';
import type { Json } from '../model/json.js';
import { readPublicKey, type MachineAccess } from '../model/machine/access.js';
import { unsafeText, unsafeUser } from '../model/safe-text.js';
import { isHostKey } from '../plugins/known-hosts.js';
import { quoteWords } from '../ssh/quote.js';
import { CliError } from './errors.js';
import type { Output } from './output.js';
import { wordsForFileError } from '../schema/read-text.js';

/** Prints how the user of a machine logs in. `keyFile`: the file of the public key that the user gave. */
export function printAccess(output: Output, machine: string, access: MachineAccess, keyFile?: string): void {
  const { address, port, hostKey, login } = access;
  if (login === undefined) {
    output.line(`${machine}: reserved without a login`);
    return;
  }
  const { user, password } = login;
  output.line(
    `${machine}: ${logInCommand({ user, address, port, hostKey, hasPassword: password !== undefined, keyFile })}`,
  );
  output.line(password === undefined ? '  with your own key' : `  password ${password}`);
  if (typeof hostKey === 'string') output.line(`  host key ${hostKey}`);
  else if (hostKey !== null) output.line('  host key ?');
}

interface LogIn extends Readonly<Record<'user' | 'address' | 'port' | 'hostKey', Json>> {
  readonly hasPassword: boolean;
  readonly keyFile?: string | undefined;
}

/**
 * The ssh command with which the user logs in. It offers only the user's credentials and
 * accepts only the machine's host key, regardless of known_hosts.
 */
function logInCommand({ hostKey, hasPassword, keyFile, ...target }: LogIn): string {
  const plain = sshCommand(target);
  if (plain.includes('?')) return plain;
  // Otherwise they are a host and a port.
  const { address, port } = target as Readonly<Record<'address' | 'port', string | number>>;
  const privateKey = keyFile?.endsWith('.pub') === true ? keyFile.slice(0, -'.pub'.length) : undefined;
  const credentials = hasPassword
    ? ['-o', 'PubkeyAuthentication=no']
    : privateKey === undefined
      ? []
      : ['-o', 'IdentitiesOnly=yes', '-i', privateKey];
  const key =
    typeof hostKey === 'string' && isHostKey(hostKey)
      ? hostKey.trim().split(/\s+/).slice(0, 2).join(' ')
      : undefined;
  const known = `KnownHostsCommand=/bin/echo [${address}]:${port} ${key}`;
  const verified =
    key === undefined
      ? []
      : [
          'StrictHostKeyChecking=yes',
          'UserKnownHostsFile=/dev/null',
          'GlobalKnownHostsFile=/dev/null',
          known,
        ].flatMap((option) => ['-o', option]);
  const [program = '', ...words] = plain.split(' ');
  // known_hosts omits port 22.
  return [program, quoteWords([...verified.map(withoutStandardPort), ...credentials]), ...words]
    .filter((part) => part !== '')
    .join(' ');
}

function withoutStandardPort(word: string): string {
  return word.replace(/ \[([^\]]+)\]:22 /, ' $1 ');
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
  throw new CliError('Usage', `--key ${file} is not an OpenSSH public key: it must be ${right}`);
}
