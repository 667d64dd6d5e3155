import { readFileSync } from 'node:fs';
import { readPublicKey } from '../model/machine/access.js';
import { CliError } from './cli-error.js';

/** The public key in a file such as ~/.ssh/id_ed25519.pub. A private key is refused, and never sent. */
export function readPublicKeyFile(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError('Usage', `--key ${file} cannot be read: ${why}`, { cause });
  }
  const key = readPublicKey(text);
  if (key !== undefined) return key;
  const right = 'one line with type and key, as in a .pub file';
  throw new CliError('Usage', `--key ${file} is no public key of OpenSSH: ${right}`);
}
