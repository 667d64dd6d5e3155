import { printAccess, readPublicKeyFile } from '../access-text.js';
import { exitCodes } from '../errors.js';
import { withSession } from '../session.js';
import { finishOperation } from './follow.js';
import type { MachineOptions } from './operate.js';

interface LogInOptions extends MachineOptions {
  readonly user: string;
  /** File of a public key. */
  readonly key?: string;
}

/** Creates an account for a user, and shows how to log in. */
export async function logIn(name: string, { user, key, wait, ...options }: LogInOptions): Promise<number> {
  const publicKey = key === undefined ? undefined : readPublicKeyFile(key);
  return withSession(options, async (session) => {
    const { machines } = session.client;
    const { operation } = await machines.operate(name, { kind: 'log in', user, publicKey });
    const code = await finishOperation(session, name, operation, { wait });
    const access = wait && code === exitCodes.ok ? await machines.access(name) : null;
    if (access !== null) printAccess(session.output, name, access);
    return code;
  });
}
