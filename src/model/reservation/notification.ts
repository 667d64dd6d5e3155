import {
  type NotificationEvent,
  type ReservationNotification,
  isoOf,
  activeAssignments,
  type Reservation,
  type ReservationsState,
} from './state.js';
import { formatImageRef } from '../machine/image.js';

/** Adds a notification. */
export function tell(
  state: ReservationsState,
  event: NotificationEvent,
  { id, user, image, from, to, assignments, notes }: Reservation,
  text: string,
  now: number,
): ReservationsState {
  const notification: ReservationNotification = {
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
      machines: activeAssignments({ assignments }).map(({ machine }) => machine),
    },
  };
  return { ...state, notifications: [...state.notifications, notification].slice(-waitingAtMost) };
}

/** Undeliverable notifications: the oldest are dropped; every reservation keeps its notes. */
const waitingAtMost = 200;
