import type { ReservationView } from '../../model/reservation/view.js';
import { cleanLine } from '../clean-text.js';
import { CliError } from '../cli-error.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { catchInterrupt } from '../operate/follow-operation.js';
import { createOutput } from '../output.js';
import { withSession } from '../session.js';
import { formatTable } from '../table.js';
import { formatMoment } from '../time-text.js';
import { printReservation } from './text.js';

export interface ListOptions extends ServerOptions {
  readonly all?: boolean;
  readonly user?: string;
  readonly machine?: string;
}

export async function list(options: ListOptions): Promise<number> {
  const { all = false, user, machine } = options;
  const output = createOutput(options);
  const reservations = await withSession(options, ({ client }) =>
    client.reservations.list({ all, user, machine }),
  );
  output.document({ reservations });
  if (reservations.length === 0) {
    output.line('no reservations');
    output.line('next: heddle reservation create IMAGE --user NAME --for 2h');
    return exitCodes.ok;
  }
  const [head = '', ...lines] = formatTable(
    ['ID', 'STATE', 'USER', 'IMAGE', 'FROM', 'TO', 'MACHINES'],
    reservations.map(rowOf),
  );
  output.line(output.style('bold', head));
  for (const line of lines) output.line(line);
  return exitCodes.ok;
}

function rowOf({ id, state, user, image, from, to, machines }: ReservationView): readonly string[] {
  return [
    id,
    state,
    user,
    image,
    formatMoment(from),
    formatMoment(to),
    machines.map(({ name }) => name).join(', '),
  ];
}

export async function show(id: string, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const view = await withSession(options, ({ client }) => client.reservations.show(id));
  output.document({ reservation: view });
  printReservation(output, view, Date.now());
  for (const { at, text } of view.notes) output.line(cleanLine(`  ${formatMoment(at)}: ${text}`));
  return exitCodes.ok;
}

/** Waits until its user may log in. */
export async function ready(id: string, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async ({ client }) => {
    const interrupt = catchInterrupt();
    try {
      const waiting = client.reservations.waitUntil(
        id,
        ({ state }) => !['booked', 'preparing', 'prepared'].includes(state),
        { signal: interrupt.signal },
      );
      waiting.catch(() => undefined);
      const view = await Promise.race([waiting, interrupt.happened]);
      const isReady = view.state === 'ready' || view.state === 'in use';
      printReservation(output, view, Date.now());
      if (isReady) output.line(cleanLine(`next: heddle reservation log-in ${id}`));
      output.document({ reservation: view });
      return isReady ? exitCodes.ok : exitCodes.failed;
    } catch (cause) {
      if (!interrupt.signal.aborted) throw cause;
      throw new CliError('Interrupted', `stopped watching; reservation ${id} goes on`, {
        next: `heddle reservation show ${id}`,
        cause,
      });
    } finally {
      interrupt.release();
    }
  });
}
