import {
  reservationsContract,
  type ReserveReply,
  type ReservationsPage,
  type ReservationsRequest,
} from '../../model/reservation/contract.js';
import { refuseGrowth } from '../../model/carried.js';
import { packReservations } from '../../model/reservation/carry.js';
import { refuseEnd, refuseLogIn, refuseExtension, refuseRequest } from '../../model/reservation/check.js';
import { endReservation } from '../../model/reservation/decide.js';
import { withNote, withReservation, type Reservation, isoOf } from '../../model/reservation/state.js';
import { viewOfReservation } from '../../model/reservation/view.js';
import { type Message, handlersOf } from '../entity.js';
import { setState, type ReservationsMemory } from './memory.js';
import { reserve } from './reserve.js';

/** Reservations of one page. */
const pageSize = 200;

/** The messages of the calendar. Handlers change the state; the step function does the work. */
export function messagesOf(memory: ReservationsMemory): readonly Message[] {
  return handlersOf(reservationsContract, {
    updates: {
      reserve: [
        (request) => reserve(memory, request),
        (request) => refuseRequest(memory.state, request, Date.now()) ?? refuseLarge(memory, request),
      ],
      extend: [
        ({ id, to, by }) =>
          change(memory, id, (reservation) => {
            const { reminded: _reminded, ...longer } = withNote(
              reservation,
              Date.now(),
              `${by} extended it from ${isoOf(reservation.to)} to ${isoOf(to)}`,
            );
            return { ...longer, to };
          }),
        (request) => refuseExtension(memory.state, request),
      ],
      cancel: [
        ({ id, by }) => end(memory, id, 'cancelled', `cancelled by ${by}`),
        ({ id }) => refuseEnd(memory.state, id, 'cancelled', Date.now()),
      ],
      return: [
        ({ id, by }) => end(memory, id, 'returned', `returned by ${by}`),
        ({ id }) => refuseEnd(memory.state, id, 'returned', Date.now()),
      ],
      logIn: [
        ({ id, publicKey }) => {
          const key = publicKey === undefined ? {} : { publicKey };
          return change(memory, id, (reservation) => ({ ...reservation, logInRequested: true, ...key }));
        },
        (request) => refuseLogIn(memory.state, request) ?? refuseLarge(memory, request),
      ],
    },
    queries: {
      reservation: (id) => {
        const reservation = memory.state.reservations[id];
        return reservation === undefined ? null : viewOfReservation(reservation);
      },
      reservations: (request) => pageOf(memory, request),
    },
  });
}

function end(
  memory: ReservationsMemory,
  id: string,
  how: 'cancelled' | 'returned',
  why: string,
): ReserveReply {
  const reservation = known(memory, id);
  setState(memory, endReservation(memory.state, reservation, { at: Date.now(), how, why }));
  return { reservation: viewOfReservation(known(memory, id)) };
}

function change(
  memory: ReservationsMemory,
  id: string,
  to: (reservation: Reservation) => Reservation,
): ReserveReply {
  const changed = to(known(memory, id));
  setState(memory, withReservation(memory.state, changed));
  return { reservation: viewOfReservation(changed) };
}

/** Seen by the validator in the same workflow task. */
function known(memory: ReservationsMemory, id: string): Reservation {
  const reservation = memory.state.reservations[id];
  if (reservation === undefined) throw new Error(`reservation ${id} does not exist`);
  return reservation;
}

function refuseLarge({ state }: ReservationsMemory, added: object): string | undefined {
  return refuseGrowth(
    'the calendar of reservations',
    { state: packReservations(state), added },
    'end reservations first, or make them smaller',
  );
}

function pageOf(
  { state: { reservations } }: ReservationsMemory,
  { after, all = false, user, machine }: ReservationsRequest,
): ReservationsPage {
  const numberOf = (id: string): number => Number(id.slice(1));
  const found = Object.values(reservations)
    .filter(
      ({ id, closedAt, user: whose, assignments }) =>
        (after === undefined || numberOf(id) > numberOf(after)) &&
        (all || closedAt === undefined) &&
        (user === undefined || whose === user) &&
        (machine === undefined || assignments.some((assignment) => assignment.machine === machine)),
    )
    .toSorted((a, b) => numberOf(a.id) - numberOf(b.id));
  const page = found.slice(0, pageSize);
  const last = page.at(-1);
  return {
    reservations: page.map(viewOfReservation),
    ...(last === undefined || page.length === found.length ? {} : { next: last.id }),
  };
}
