import { printAccess } from '../access-text.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { readPublicKeyFile } from '../public-key.js';
import { withSession } from '../session.js';
import { finishOperation } from './follow.js';
import type { MachineOptions } from './operate.js';

export interface LogInOptions extends MachineOptions {
  readonly user: string;
  /** File of a public key. */
  readonly key?: string;
}

/** Lets a user in by hand, and tells how to log in. */
export async function logIn(name: string, { user, key, ...options }: LogInOptions): Promise<number> {
  const output = createOutput(options);
  const given = key === undefined ? {} : { publicKey: readPublicKeyFile(key) };
  return withSession(options, async (session) => {
    const { machines } = session.client;
    const { operation } = await machines.operate(name, { kind: 'log in', user, ...given });
    const code = await finishOperation(session, output, name, operation, options);
    if (!options.wait || code !== exitCodes.ok) return code;
    const access = await machines.access(name);
    if (access !== null) printAccess(output, name, access);
    return code;
  });
}
