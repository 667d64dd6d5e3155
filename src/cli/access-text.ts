import type { Json } from '../model/json.js';
import type { MachineAccess } from '../model/machine/access.js';
import { cleanLine } from './clean-text.js';
import type { Output } from './output.js';

/** How the user of a machine logs in, for people. */
export function printAccess(output: Output, machine: string, access: MachineAccess): void {
  const { address, port, hostKey, login } = access;
  if (login === undefined) {
    output.line(`${cleanLine(machine)}: open; nobody logs in to it`);
    return;
  }
  const { user, password } = login;
  output.line(`${cleanLine(machine)}: ssh -p ${shown(port)} ${shown(user)}@${shown(address)}`);
  output.line(password === undefined ? '  with your own key' : `  password ${cleanLine(password)}`);
  if (hostKey !== null) output.line(`  host key ${shown(hostKey)}`);
}

function shown(value: Json): string {
  return typeof value === 'string' || typeof value === 'number' ? cleanLine(String(value)) : '?';
}
