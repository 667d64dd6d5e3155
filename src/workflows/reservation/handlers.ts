import { setHandler } from '@temporalio/workflow';
import { refuseEnd, refuseEntry, refuseExtension, refuseRequest } from '../../model/reservation/check.js';
import { endReservation } from '../../model/reservation/clock.js';
import type { ReserveReply } from '../../model/reservation/messages.js';
import { withNote, withReservation, type Reservation } from '../../model/reservation/reservation.js';
import { isoOf } from '../../model/reservation/tidings.js';
import { viewOfReservation } from '../../model/reservation/view.js';
import { take, type ReservationsMemory } from './memory.js';
import {
  cancelReservationUpdate,
  enterUpdate,
  extendUpdate,
  reservationQuery,
  reservationsQuery,
  reserveUpdate,
  returnUpdate,
  type ReservationsPage,
  type ReservationsRequest,
} from './messages.js';
import { refuse, reserve } from './reserve.js';

/** Reservations of one page. */
const pageSize = 200;

/** All that the calendar answers. Handlers change state; the main loop does the work. */
export function handleMessages(memory: ReservationsMemory): void {
  setHandler(
    reserveUpdate,
    (request) => {
      memory.updates += 1;
      return reserve(memory, request);
    },
    {
      validator: (request) => refuse(refuseRequest(memory.state, request, Date.now())),
      description: 'Reserve machines, all that are wanted or none.',
    },
  );
  setHandler(
    extendUpdate,
    ({ id, to, by }) => {
      memory.updates += 1;
      return change(memory, id, (reservation) => {
        const { reminded: _reminded, ...longer } = withNote(
          reservation,
          Date.now(),
          `${by} extended it from ${isoOf(reservation.to)} to ${isoOf(to)}`,
        );
        return { ...longer, to };
      });
    },
    {
      validator: (request) => refuse(refuseExtension(memory.state, request)),
      description: 'Let it last longer.',
    },
  );
  setHandler(cancelReservationUpdate, ({ id, by }) => end(memory, id, 'cancelled', `cancelled by ${by}`), {
    validator: (request) => refuse(refuseEnd(memory.state, request.id, 'cancelled')),
    description: 'End one that has not begun.',
  });
  setHandler(returnUpdate, ({ id, by }) => end(memory, id, 'returned', `returned by ${by}`), {
    validator: (request) => refuse(refuseEnd(memory.state, request.id, 'returned')),
    description: 'End one before its time is over.',
  });
  setHandler(
    enterUpdate,
    ({ id, publicKey }) => {
      memory.updates += 1;
      const key = publicKey === undefined ? {} : { publicKey };
      return change(memory, id, (reservation) => ({ ...reservation, entering: true, ...key }));
    },
    {
      validator: (request) => refuse(refuseEntry(memory.state, request)),
      description: 'Open its machines to the user.',
    },
  );
  setHandler(
    reservationQuery,
    (id) => {
      const reservation = memory.state.reservations[id];
      return reservation === undefined ? null : viewOfReservation(reservation);
    },
    { description: 'One reservation.' },
  );
  setHandler(reservationsQuery, (request) => pageOf(memory, request), {
    description: 'A page of reservations.',
  });
}

function end(
  memory: ReservationsMemory,
  id: string,
  how: 'cancelled' | 'returned',
  why: string,
): ReserveReply {
  memory.updates += 1;
  const reservation = known(memory, id);
  take(memory, endReservation(memory.state, reservation, { at: Date.now(), how, why }));
  return { reservation: viewOfReservation(known(memory, id)) };
}

function change(
  memory: ReservationsMemory,
  id: string,
  to: (reservation: Reservation) => Reservation,
): ReserveReply {
  const changed = to(known(memory, id));
  take(memory, withReservation(memory.state, changed));
  return { reservation: viewOfReservation(changed) };
}

/** Seen by the validator in the same workflow task. */
function known(memory: ReservationsMemory, id: string): Reservation {
  const reservation = memory.state.reservations[id];
  if (reservation === undefined) throw new Error(`there is no reservation ${id}`);
  return reservation;
}

function pageOf(
  { state: { reservations } }: ReservationsMemory,
  { after, all = false, user, machine }: ReservationsRequest,
): ReservationsPage {
  const numberOf = (id: string): number => Number(id.slice(1));
  const found = Object.values(reservations)
    .filter(
      ({ id, closedAt, user: whose, seats }) =>
        (after === undefined || numberOf(id) > numberOf(after)) &&
        (all || closedAt === undefined) &&
        (user === undefined || whose === user) &&
        (machine === undefined || seats.some((seat) => seat.machine === machine)),
    )
    .toSorted((a, b) => numberOf(a.id) - numberOf(b.id));
  const page = found.slice(0, pageSize);
  const last = page.at(-1);
  return {
    reservations: page.map(viewOfReservation),
    ...(last === undefined || page.length === found.length ? {} : { next: last.id }),
  };
}
