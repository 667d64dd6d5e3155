import { formatImageRef } from '../machine/image.js';
import {
  activeAssignments,
  stateOf,
  type Reservation,
  type ReservationState,
  type AssignmentStage,
  type Wanted,
  isoOf,
} from './state.js';

/** The public view of a reservation. Moments are in RFC 3339. */
export interface ReservationView {
  readonly id: string;
  readonly state: ReservationState;
  readonly why?: string;
  readonly user: string;
  readonly image: string;
  readonly from: string;
  readonly to: string;
  readonly by: string;
  readonly askedAt: string;
  readonly wanted: Wanted;
  readonly machines: readonly AssignmentView[];
  readonly readyAt?: string;
  readonly overAt?: string;
  readonly notes: readonly { readonly at: string; readonly text: string }[];
}

interface AssignmentView {
  readonly name: string;
  readonly stage: AssignmentStage;
  /** What it is asked now. */
  readonly doing?: string;
  readonly why?: string;
}

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
