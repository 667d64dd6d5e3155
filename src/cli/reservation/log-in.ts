import { printAccess } from '../access-text.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { readPublicKeyFile } from '../public-key.js';
import { withSession } from '../session.js';

export interface LogInOptions extends ServerOptions {
  /** File of a public key. */
  readonly key?: string;
}

/** Opens the machines to their user, and tells how to log in. */
export async function logIn(id: string, { key, ...options }: LogInOptions): Promise<number> {
  const output = createOutput(options);
  const given = key === undefined ? {} : { publicKey: readPublicKeyFile(key) };
  const opened = await withSession(options, ({ client }) => client.reservations.logIn(id, given));
  for (const { machine, access } of opened) printAccess(output, machine, access);
  output.document({
    reservation: { id },
    machines: opened.map(({ machine, access: { address, port, hostKey, login } }) => ({
      name: machine,
      address,
      port,
      hostKey,
      auth: login === undefined ? {} : { ...login },
    })),
  });
  return exitCodes.ok;
}
