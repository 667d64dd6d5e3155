import type { ReservationClient } from '../../client/reservation.js';
import type { ReservationView } from '../../model/reservation/view.js';
import { parseDuration } from '../../schema/duration.js';
import { parseMoment } from '../../schema/reservation/moment.js';
import { CliError } from '../cli-error.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { requireWorker, withSession } from '../session.js';
import { printReservation } from './text.js';

export interface ExtendOptions extends ServerOptions {
  readonly to?: string;
  readonly by?: string;
}

/** Lets it last longer. */
export async function extend(id: string, options: ExtendOptions): Promise<number> {
  const { to, by } = options;
  if ((to === undefined) === (by === undefined))
    throw new CliError('Usage', 'say until when with --to, or for how much longer with --by', {
      next: 'heddle reservation extend --help',
    });
  const at = to === undefined ? undefined : parseMoment(to);
  const longerMs = by === undefined ? undefined : parseDuration(by);
  if (to !== undefined && at === undefined)
    throw new CliError(
      'Usage',
      `--to ${to} is no moment such as 2026-07-01T09:00:00Z, or 2026-07-01 09:00 in the zone of this machine`,
    );
  if (by !== undefined && longerMs === undefined)
    throw new CliError('Usage', `--by ${by} is no duration of 1 ms to 30 days, such as 1h`);
  return ask(options, async (reservations) =>
    reservations.extend(id, at ?? Date.parse((await reservations.show(id)).to) + (longerMs ?? 0)),
  );
}

export function cancel(id: string, options: ServerOptions): Promise<number> {
  return ask(options, (reservations) => reservations.cancel(id));
}

export function giveBack(id: string, options: ServerOptions): Promise<number> {
  return ask(options, (reservations) => reservations.return(id));
}

async function ask(
  options: ServerOptions,
  change: (reservations: ReservationClient) => Promise<ReservationView>,
): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const view = await change(session.client.reservations);
    printReservation(output, view, Date.now());
    output.document({ reservation: view });
    return exitCodes.ok;
  });
}
