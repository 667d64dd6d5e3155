import type { OpenedMachine } from '../../client/reservation/reservation-client.js';
import type { JsonObject } from '../../model/json.js';
import { unsafeText, unsafeUser } from '../../model/safe-text.js';
import { cleanLine } from '../clean-text.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { authOf } from '../look/ssh-target.js';
import { createOutput, type Output } from '../output.js';
import { withSession } from '../session.js';

/** Opens the machines to their user, and tells how to log in. */
export async function logIn(id: string, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const opened = await withSession(options, ({ client }) => client.reservations.logIn(id));
  for (const one of opened) print(output, one);
  output.document({
    reservation: { id },
    machines: opened.map(({ machine, payload }) => ({ name: machine, address: payload['ipaddress'] ?? null, port: payload['ssh-port'] ?? 22, hostKey: payload['ssh-host-key'] ?? null, auth: authOf(payload) })),
  });
  return exitCodes.ok;
}

function print(output: Output, { machine, payload }: OpenedMachine): void {
  const auth = authOf(payload);
  const shown = (value: unknown): string => cleanLine(typeof value === 'string' || typeof value === 'number' ? String(value) : '?');
  output.line(`${cleanLine(machine)}: ${sshCommand(payload, auth)}`);
  if (typeof auth['password'] === 'string') output.line(`  password ${cleanLine(auth['password'])}`);
  if (auth['key'] !== undefined) output.line('  its key is in what --json writes');
  if (payload['ssh-host-key'] !== undefined) output.line(`  host key ${shown(payload['ssh-host-key'])}`);
}

/**
 * A command to copy into a shell. A part that would be more than one word there, or an option, is shown as
 * `?`.
 */
export function sshCommand(
  { 'ipaddress': host, 'ssh-port': port = 22 }: JsonObject,
  { user }: JsonObject,
): string {
  const login =
    typeof user === 'string' && unsafeUser(user) === undefined && !/[\\$]/.test(user) ? user : '?';
  const address =
    typeof host === 'string' && unsafeText(host) === undefined && /^[\w.:-]+$/.test(host) ? host : '?';
  const isPort = typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536;
  return `ssh -p ${isPort ? port : '?'} ${login}@${address}`;
}
