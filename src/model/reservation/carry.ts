import { jsonBytes } from '../carried.js';
import type { Assignment, Reservation, ReservationsState } from './state.js';

/** Records that people only like to read are left out above this, in bytes. */
const mostWithRecords = 1_200_000;

/** The calendar for the next run: where it is too large, without what people only like to read. */
export function packReservations(state: ReservationsState, limit = mostWithRecords): ReservationsState {
  const smaller: readonly ((one: ReservationsState) => ReservationsState)[] = [
    (one) => one,
    (one) => ({
      ...one,
      reservations: Object.fromEntries(
        Object.entries(one.reservations).filter(([, { closedAt }]) => closedAt === undefined),
      ),
    }),
    (one) => withReservations(one, (reservation) => ({ ...reservation, notes: reservation.notes.slice(-2) })),
    (one) =>
      withReservations(one, (reservation) => ({
        ...reservation,
        notes: [],
        assignments: reservation.assignments.filter(({ stage }) => stage !== 'free'),
      })),
    (one) =>
      withReservations(one, (reservation) => ({
        ...reservation,
        assignments: reservation.assignments.map(withoutWhy),
      })),
  ];
  let packed = state;
  for (const shrink of smaller) {
    packed = shrink(packed);
    if (jsonBytes(packed) <= limit) return packed;
  }
  return packed;
}

/** Whether it was given up must be known. */
function withoutWhy({ why: _why, givenUp, ...assignment }: Assignment): Assignment {
  return givenUp === undefined ? assignment : { ...assignment, givenUp: '' };
}

function withReservations(
  state: ReservationsState,
  change: (reservation: Reservation) => Reservation,
): ReservationsState {
  return {
    ...state,
    reservations: Object.fromEntries(
      Object.entries(state.reservations).map(([id, reservation]) => [id, change(reservation)]),
    ),
  };
}
