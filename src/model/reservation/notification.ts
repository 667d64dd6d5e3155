import {
  type NotificationEvent,
  type ReservationNotification,
  isoOf,
  activeAssignments,
  type Reservation,
  type ReservationsState,
} from './state.js';
import { bounds } from '../bounds.js';
import { cutText, firstWithin } from '../carried.js';
import type { HeddleEvent } from '../event.js';
import { formatImageRef } from '../machine/image.js';

/** Adds a notification. */
export function withNotification(
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
    text: cutText(text, longestText),
    reservation: {
      id,
      user,
      image: formatImageRef(image),
      from: isoOf(from),
      to: isoOf(to),
      machines: activeAssignments({ assignments }).map(({ machine }) => machine),
    },
  };
  const newest = [...state.notifications, notification].slice(-waitingAtMost).toReversed();
  const kept = firstWithin(newest, bounds.reservations.notifications.most);
  return { ...state, notifications: kept.toReversed() };
}

export type ReservationEvent = HeddleEvent<
  `reservation.${NotificationEvent}`,
  Pick<ReservationNotification, 'text' | 'reservation'>
>;

/** A notification as webhooks receive it. Ids of messages have no slashes and dots. */
export function eventOf({ id, event, at, text, reservation }: ReservationNotification): ReservationEvent {
  return {
    id: id.replaceAll(/[/.]/g, '_'),
    type: `reservation.${event}`,
    timestamp: at,
    data: { text, reservation },
  };
}

/** In bytes of JSON. */
const longestText = 1_000;
/** Undeliverable notifications: the oldest are dropped; every reservation keeps its notes. */
const waitingAtMost = 200;
