import type { ReservationClient } from '../../client/reservation.js';
import type { ReservationView } from '../../schema/output/reservation.js';
import { parseDuration } from '../../model/duration.js';
import { parseMoment } from '../../schema/reservation/moment.js';
import { CliError } from '../errors.js';
import type { ServerOptions } from '../configuration.js';
import { verb } from '../verb.js';
import { printReservation } from './show.js';

interface ExtendOptions extends ServerOptions {
  readonly to?: string;
  readonly by?: string;
}

export async function extend(id: string, options: ExtendOptions): Promise<number> {
  const { to, by } = options;
  if ((to === undefined) === (by === undefined))
    throw new CliError('Usage', 'give the new end with --to, or the additional time with --by', {
      next: 'heddle reservation extend --help',
    });
  const at = to === undefined ? undefined : parseMoment(to);
  const longerMs = by === undefined ? undefined : parseDuration(by);
  if (to !== undefined && at === undefined)
    throw new CliError(
      'Usage',
      `--to ${to} is not a valid time; use one such as 2026-07-01T09:00:00Z, or 2026-07-01 09:00 in the time zone of this machine`,
    );
  if (by !== undefined && longerMs === undefined)
    throw new CliError(
      'Usage',
      `--by ${by} is not a valid duration; use one from 1 ms to 30 days, such as 1h`,
    );
  const extendTo = changeVerb(async (reservations) =>
    reservations.extend(id, at ?? Date.parse((await reservations.show(id)).to) + (longerMs ?? 0)),
  );
  return extendTo(id, options);
}

export const cancel = changeVerb((reservations, id) => reservations.cancel(id));

export const returnEarly = changeVerb((reservations, id) => reservations.return(id));

function changeVerb(
  change: (reservations: ReservationClient, id: string) => Promise<ReservationView>,
): (id: string, options: ServerOptions) => Promise<number> {
  return verb(({ client }, id: string, _options: ServerOptions) => change(client.reservations, id), {
    worker: true,
    document: (reservation) => ({ reservation }),
    print: (output, reservation) => printReservation(output, reservation),
  });
}
