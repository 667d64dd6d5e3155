import { describeIntent } from '../../model/machine/decide.js';
import { counts } from '../../model/machine/drift.js';
import { formatImageRef } from '../../model/machine/image.js';
import { filteredOut } from '../../model/machine/selection.js';
import { machineWorkflowId } from '../../model/names.js';
import type { ServerOptions } from '../configuration.js';
import { readWorkflows } from '../system/server-view.js';
import { printTroubles } from '../cluster/status-text.js';
import { findTroubles } from '../system/troubles.js';
import { formatMoment } from '../format.js';
import type { Session } from '../session.js';
import { noteSilent, verb } from '../verb.js';
import type { SelectOptions } from './batch.js';
import { formatState, printMachine } from './machine-text.js';

export const noMachines = 'no machines\nnext: heddle machine add NAME --provider PROVIDER';

export const show = verb(
  async ({ client, temporal }, name: string, _options: ServerOptions) => {
    const machine = await client.machines.show(name);
    if (machine.operation === undefined) return { machine, troubles: [] };
    const server = await readWorkflows(temporal, [machineWorkflowId(name)], `machine ${name}`);
    return { machine, troubles: findTroubles(server, Date.now()) };
  },
  {
    print: (output, { machine, troubles }) => {
      printMachine(output, machine, Date.now());
      printTroubles(output, troubles);
    },
  },
);

export interface FilterOptions extends ServerOptions, SelectOptions {
  readonly provider?: string;
  readonly site?: string;
}

/** The machines that the options select; those that do not answer are named all the same. */
export async function listMachines(
  { client }: Session,
  { group, label: labels, provider, site }: FilterOptions,
): ReturnType<Session['client']['machines']['list']> {
  const { machines, silent } = await client.machines.list();
  const filter = { group, labels, provider, site };
  return { machines: machines.filter((machine) => filteredOut(machine, filter) === undefined), silent };
}

export const list = verb((session: Session, options: FilterOptions) => listMachines(session, options), {
  table: {
    head: ['MACHINE', 'STATE', 'GROUPS', 'USER', 'UNTIL', 'IMAGE', 'ADDRESS', 'DRIFT', 'DOING'],
    rows: ({ machines }) =>
      machines.map(
        ({
          name,
          state,
          power,
          quarantine,
          groups,
          image,
          user,
          holder,
          address = '-',
          operation,
          drift,
        }) => {
          const found = drift
            .filter(counts)
            .map(({ kind, found: is }) => (kind === 'gone' ? kind : `${kind}: ${is}`));
          return [
            name,
            formatState({ state, power, quarantine }),
            groups.join(', ') || '-',
            holder?.user ?? user ?? '-',
            holder === undefined ? '-' : formatMoment(holder.until),
            image === undefined ? '-' : formatImageRef(image),
            address,
            found.join(', ') || '-',
            operation === undefined ? '' : describeIntent(operation.intent),
          ];
        },
      ),
    empty: noMachines,
  },
  print: (output, { silent }) => noteSilent(output, 'machine', silent),
});
