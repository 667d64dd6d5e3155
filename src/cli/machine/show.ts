import type { MachineView } from '../../model/machine/state.js';
import { wordsOf } from '../../model/machine/decide.js';
import { counts } from '../../model/machine/drift.js';
import { formatImageRef } from '../../model/machine/image.js';
import { machineWorkflowId } from '../../model/names.js';
import { cleanLine } from '../clean-text.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { lookAtWorkflows } from '../look/server-view.js';
import { printTroubles } from '../look/status-text.js';
import { findTroubles } from '../look/troubles.js';
import { createOutput } from '../output.js';
import { withSession } from '../session.js';
import { formatTable } from '../table.js';
import { formatMoment } from '../time-text.js';
import { printMachine } from './text.js';

export async function show(name: string, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const { machine, troubles } = await withSession(options, async ({ client, temporal }) => {
    const found = await client.machines.show(name);
    return {
      machine: found,
      troubles:
        found.operation === undefined
          ? []
          : findTroubles(
              await lookAtWorkflows(temporal, [machineWorkflowId(name)], `machine ${name}`),
              Date.now(),
            ),
    };
  });
  output.document({ machine, troubles });
  printMachine(output, machine, Date.now());
  printTroubles(output, troubles);
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
  const [head = '', ...lines] = formatTable(
    ['MACHINE', 'STATE', 'USER', 'UNTIL', 'IMAGE', 'ADDRESS', 'DRIFT', 'DOING'],
    machines.map(rowOf),
  );
  output.line(output.style('bold', head));
  for (const line of lines) output.line(line);
  return exitCodes.ok;
}

function rowOf({
  name,
  state,
  image,
  user,
  holder,
  address = '-',
  operation,
  drift,
}: MachineView): readonly string[] {
  return [
    name,
    state,
    holder?.user ?? user ?? '-',
    holder === undefined ? '-' : formatMoment(holder.until),
    image === undefined ? '-' : formatImageRef(image),
    address,
    drift
      .filter(counts)
      .map(({ kind, found }) => (kind === 'gone' ? kind : `${kind}: ${found}`))
      .join(', ') || '-',
    operation === undefined ? '' : wordsOf(operation.intent),
  ];
}
