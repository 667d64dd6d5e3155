import { printAccess, readPublicKeyFile } from '../access-text.js';
import type { ServerOptions } from '../configuration.js';
import { verb } from '../verb.js';

/** Opens the machines to their user, and shows how to log in. */
export async function logIn(id: string, options: ServerOptions & { readonly key?: string }): Promise<number> {
  const { key } = options;
  return open(id, key === undefined ? undefined : readPublicKeyFile(key), options);
}

const open = verb(
  ({ client }, id: string, publicKey: string | undefined, _options: ServerOptions) =>
    client.reservations.logIn(id, { publicKey, everyMs: 500 }),
  {
    document: (opened, id) => ({
      reservation: { id },
      machines: opened.map(({ machine, access: { address, port, hostKey, login } }) => ({
        name: machine,
        address,
        port,
        hostKey,
        auth: login ?? {},
      })),
    }),
    print: (output, opened) => {
      for (const { machine, access } of opened) printAccess(output, machine, access);
    },
  },
);
