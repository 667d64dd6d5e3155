import {
  activeAssignments,
  openReservations,
  withNote,
  withReservation,
  withAssignment,
  type Reservation,
  type ReservationsState,
  isoOf,
} from './state.js';
import { cutText } from '../carried.js';
import { withNotification } from './notification.js';

/** Everything that follows from the present time and from ended steps. */
export function applyTime(state: ReservationsState, now: number): ReservationsState {
  return openReservations(state).reduce((before, { id }) => {
    const reservation = before.reservations[id];
    return reservation === undefined ? before : advance(before, reservation, now);
  }, state);
}

function advance(state: ReservationsState, reservation: Reservation, now: number): ReservationsState {
  const { over, readyAt, reminded, to, from, settings, wanted, id } = reservation;
  if (over !== undefined) return close(state, reservation, now);
  if (now >= to) {
    return readyAt === undefined
      ? endReservation(state, reservation, {
          at: now,
          how: 'failed',
          why: 'it ended before all its machines were prepared',
        })
      : endReservation(state, reservation, { at: now, how: 'ended', why: 'its end was reached' });
  }
  const active = activeAssignments(reservation);
  if (
    readyAt === undefined &&
    now >= from &&
    active.length === wanted.count &&
    active.every(({ stage }) => stage === 'placed')
  ) {
    const ready = withNote({ ...reservation, readyAt: now }, now, 'ready');
    return withNotification(
      withReservation(state, ready),
      'ready',
      ready,
      `${id} is ready until ${isoOf(to)}`,
      now,
    );
  }
  if (readyAt !== undefined && reminded === undefined && now >= to - settings.remindMs) {
    const reminded: Reservation = { ...reservation, reminded: true };
    return withNotification(
      withReservation(state, reminded),
      'reminder',
      reminded,
      `${id} ends at ${isoOf(to)}`,
      now,
    );
  }
  return state;
}

/** In bytes of JSON. */
const longestWhy = 500;

/** Ends the reservation now, whatever its machines are doing. */
export function endReservation(
  state: ReservationsState,
  reservation: Reservation,
  over: NonNullable<Reservation['over']>,
): ReservationsState {
  const words = over.why.startsWith(over.how) ? over.why : `${over.how}: ${over.why}`;
  const ended = withNote(
    { ...reservation, over: { ...over, why: cutText(over.why, longestWhy) } },
    over.at,
    words,
  );
  return withNotification(
    withReservation(state, ended),
    over.how === 'failed' ? 'failed' : 'ended',
    ended,
    `${reservation.id} ${words}`,
    over.at,
  );
}

/** What was never asked of a machine needs no machine to end. */
function close(state: ReservationsState, reservation: Reservation, now: number): ReservationsState {
  const freed = reservation.assignments
    .filter(({ stage, asking }) => stage === 'booked' && asking === undefined)
    .reduce((before, assignment) => withAssignment(before, { ...assignment, stage: 'free' }), reservation);
  if (freed.assignments.every(({ stage }) => stage === 'free'))
    return withReservation(state, { ...freed, closedAt: now });
  return freed === reservation ? state : withReservation(state, freed);
}

/** Machines that a reservation still lacks, for some were given up. */
export function lacking(reservation: Reservation): number {
  return reservation.over === undefined
    ? reservation.wanted.count - activeAssignments(reservation).length
    : 0;
}

/** When the clock has something to do next, in ms since the epoch. */
export function nextDue(state: ReservationsState, now: number): number | undefined {
  const moments = openReservations(state)
    .flatMap(({ from, to, settings, readyAt, reminded, over, assignments }) => [
      ...(over === undefined ? [to] : []),
      ...(over === undefined && readyAt === undefined ? [from, from - settings.prepareMs] : []),
      ...(over === undefined && reminded === undefined ? [to - settings.remindMs] : []),
      ...assignments.flatMap(({ notBefore }) => (notBefore === undefined ? [] : [notBefore])),
    ])
    .filter((moment) => moment > now);
  return moments.length === 0 ? undefined : Math.min(...moments);
}
