import {
  type TidingsEvent,
  type Tidings,
  isoOf,
  activeSeats,
  type Reservation,
  type ReservationsState,
} from './state.js';
import { formatImageRef } from '../machine/image.js';

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

/** Undeliverable notifications: the oldest are dropped; every reservation keeps its notes. */
const waitingAtMost = 200;
