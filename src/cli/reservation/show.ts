import type { ReservationView } from '../../schema/output/reservation.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../errors.js';
import { untilEnd } from '../waiting.js';
import type { Output } from '../output.js';
import { formatDuration, formatMoment, optional } from '../format.js';
import { verb } from '../verb.js';

interface ListOptions extends ServerOptions {
  readonly all?: boolean;
  readonly user?: string;
  readonly machine?: string;
}

export const list = verb(
  async ({ client }, { all = false, user, machine }: ListOptions) => ({
    reservations: await client.reservations.list({ all, user, machine }),
  }),
  {
    table: {
      head: ['ID', 'STATE', 'USER', 'IMAGE', 'FROM', 'TO', 'MACHINES'],
      rows: ({ reservations }) =>
        reservations.map(({ id, state, user, image, from, to, machines }) => [
          id,
          state,
          user,
          image,
          formatMoment(from),
          formatMoment(to),
          machines.map(({ name }) => name).join(', '),
        ]),
      empty: 'no reservations\nnext: heddle reservation create IMAGE --user NAME --for 2h',
    },
  },
);

export const show = verb(
  async ({ client }, id: string, _options: ServerOptions) => client.reservations.show(id),
  {
    document: (reservation) => ({ reservation }),
    print: (output, reservation) => {
      printReservation(output, reservation);
      for (const { at, text } of reservation.notes) output.line(`  ${formatMoment(at)}: ${text}`);
    },
  },
);

/** Waits until the user may log in. */
export const ready = verb(
  ({ client: { reservations } }, id: string, _options: ServerOptions) => {
    const isSettled = ({ state }: ReservationView): boolean => !isAhead(state);
    return untilEnd({
      what: `reservation ${id}`,
      next: `heddle reservation show ${id}`,
      end: (signal) => reservations.waitUntil(id, isSettled, { signal, everyMs: 500 }),
    });
  },
  {
    document: (reservation) => ({ reservation }),
    print: (output, reservation, id) => {
      printReservation(output, reservation);
      if (isReady(reservation)) output.line(`next: heddle reservation log-in ${id}`);
    },
    exitCode: (reservation) => (isReady(reservation) ? exitCodes.ok : exitCodes.failed),
  },
);

export function printReservation(output: Output, reservation: ReservationView): void {
  const { id, state, why, user, image, from, to, machines } = reservation;
  const because = optional(', ', why);
  output.line(`reservation ${id}: ${why?.startsWith(state) === true ? why : `${state}${because}`}`);
  output.line(`  ${image} for ${user}, ${formatMoment(from)} to ${formatMoment(to)}${leftOf(reservation)}`);
  for (const { name, stage, doing, why: reason } of machines)
    output.line(`  ${[`${name}: ${stage}`, doing, reason].filter((part) => part !== undefined).join(', ')}`);
}

function leftOf({ state, from, to }: ReservationView): string {
  const now = Date.now();
  if (state === 'ready' || state === 'in use') return `, ${formatDuration(Date.parse(to) - now)} left`;
  return isAhead(state) && Date.parse(from) > now ? `, in ${formatDuration(Date.parse(from) - now)}` : '';
}

function isAhead(state: ReservationView['state']): boolean {
  return ['booked', 'preparing', 'prepared'].includes(state);
}

function isReady({ state }: ReservationView): boolean {
  return state === 'ready' || state === 'in use';
}
