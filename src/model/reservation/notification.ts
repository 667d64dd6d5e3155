import { formatImageRef } from '../machine/image.js';
import { activeSeats, type Reservation, type ReservationsState } from './state.js';

/**
 * What people and programs are told of. `ready`: the user may log in. `reminder`: it is over soon. `moved`:
 * another machine took the place of one. `ended`, `failed`: it is over. `attention`: a machine needs an
 * administrator.
 */
export const tidingsEvents = ['ready', 'reminder', 'moved', 'ended', 'failed', 'attention'] as const;
export type TidingsEvent = (typeof tidingsEvents)[number];

export interface Tidings {
  /** The same however often it is sent. */
  readonly id: string;
  readonly event: TidingsEvent;
  /** RFC 3339. */
  readonly at: string;
  readonly text: string;
  readonly reservation: {
    readonly id: string;
    readonly user: string;
    readonly image: string;
    readonly from: string;
    readonly to: string;
    readonly machines: readonly string[];
  };
}

/** Puts it among what is to be told. */
export function tell(
  state: ReservationsState,
  event: TidingsEvent,
  { id, user, image, from, to, seats, notes }: Reservation,
  text: string,
  now: number,
): ReservationsState {
  const tidings: Tidings = {
    id: `${state.uid}/${id}/${event}/${now}.${notes.length}`,
    event,
    at: isoOf(now),
    text,
    reservation: {
      id,
      user,
      image: formatImageRef(image),
      from: isoOf(from),
      to: isoOf(to),
      machines: activeSeats({ seats }).map(({ machine }) => machine),
    },
  };
  return { ...state, tidings: [...state.tidings, tidings].slice(-waitingAtMost) };
}

/** Where nobody can be told, the oldest are forgotten; every reservation has its notes. */
const waitingAtMost = 200;

export function isoOf(at: number): string {
  return new Date(at).toISOString();
}
