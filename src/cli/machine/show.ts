import type { MachineView } from '../../model/machine/machine.js';
import { wordsOf } from '../../model/machine/accept.js';
import { formatImageRef } from '../../model/machine/image.js';
import { cleanLine } from '../clean-text.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { withSession } from '../session.js';
import { formatTable } from '../table.js';
import { printMachine } from './text.js';

export async function show(name: string, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const machine = await withSession(options, ({ client }) => client.machines.show(name));
  output.document({ machine });
  printMachine(output, machine, Date.now());
  return exitCodes.ok;
}

export async function list(options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const { machines, silent } = await withSession(options, ({ client }) => client.machines.list());
  output.document({ machines, silent });
  for (const name of silent) output.note(cleanLine(`machine ${name} does not answer`));
  if (machines.length === 0) {
    output.line('no machines');
    output.line('next: heddle machine add NAME --provider PROVIDER');
    return exitCodes.ok;
  }
  const [head = '', ...lines] = formatTable(['MACHINE', 'STATE', 'IMAGE', 'ADDRESS', 'DOING'], machines.map(rowOf));
  output.line(output.style('bold', head));
  for (const line of lines) output.line(line);
  return exitCodes.ok;
}

function rowOf({ name, state, image, address = '-', operation }: MachineView): readonly string[] {
  return [name, state, image === undefined ? '-' : formatImageRef(image), address, operation === undefined ? '' : wordsOf(operation.intent)];
}
