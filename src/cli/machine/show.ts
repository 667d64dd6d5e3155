import { describeIntent } from '../../model/machine/decide.js';
import { counts } from '../../model/machine/drift.js';
import { formatImageRef } from '../../model/machine/image.js';
import { machineWorkflowId } from '../../model/names.js';
import type { ServerOptions } from '../configuration.js';
import { lookAtWorkflows } from '../system/server-view.js';
import { printTroubles } from '../cluster/status-text.js';
import { findTroubles } from '../system/troubles.js';
import { formatMoment } from '../format.js';
import { noteSilent, verb } from '../verb.js';
import { formatState, printMachine } from './machine-text.js';

export const noMachines = 'no machines\nnext: heddle machine add NAME --provider PROVIDER';

export const show = verb(
  async ({ client, temporal }, name: string, _options: ServerOptions) => {
    const machine = await client.machines.show(name);
    if (machine.operation === undefined) return { machine, troubles: [] };
    const server = await lookAtWorkflows(temporal, [machineWorkflowId(name)], `machine ${name}`);
    return { machine, troubles: findTroubles(server, Date.now()) };
  },
  {
    print: (output, { machine, troubles }) => {
      printMachine(output, machine, Date.now());
      printTroubles(output, troubles);
    },
  },
);

export const list = verb(({ client }, _options: ServerOptions) => client.machines.list(), {
  table: {
    head: ['MACHINE', 'STATE', 'USER', 'UNTIL', 'IMAGE', 'ADDRESS', 'DRIFT', 'DOING'],
    rows: ({ machines }) =>
      machines.map(({ name, state, power, image, user, holder, address = '-', operation, drift }) => {
        const found = drift
          .filter(counts)
          .map(({ kind, found: is }) => (kind === 'gone' ? kind : `${kind}: ${is}`));
        return [
          name,
          formatState({ state, power }),
          holder?.user ?? user ?? '-',
          holder === undefined ? '-' : formatMoment(holder.until),
          image === undefined ? '-' : formatImageRef(image),
          address,
          found.join(', ') || '-',
          operation === undefined ? '' : describeIntent(operation.intent),
        ];
      }),
    empty: noMachines,
  },
  print: (output, { silent }) => noteSilent(output, 'machine', silent),
});
