import type { ReservationView } from '../../schema/output/reservation.js';
import { formatImageRef } from '../machine/image.js';
import { activeAssignments, stateOf, type Reservation, isoOf } from './state.js';

export function viewOfReservation(reservation: Reservation): ReservationView {
  const { id, user, image, from, to, by, askedAt, wanted, assignments, readyAt, over, notes } = reservation;
  const shown = over === undefined ? activeAssignments(reservation) : assignments;
  return {
    id,
    state: stateOf(reservation),
    user,
    image: formatImageRef(image),
    from: isoOf(from),
    to: isoOf(to),
    by,
    askedAt: isoOf(askedAt),
    wanted,
    machines: shown.map(({ machine, stage, asking, why }) => ({ name: machine, stage, doing: asking, why })),
    notes: notes.map(({ at, text }) => ({ at: isoOf(at), text })),
    readyAt: readyAt === undefined ? undefined : isoOf(readyAt),
    ...(over === undefined ? {} : { overAt: isoOf(over.at), why: over.why }),
  };
}
