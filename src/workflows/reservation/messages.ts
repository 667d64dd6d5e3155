import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type {
  LogInRequest,
  ExtendRequest,
  ReservationRequest,
  ReserveReply,
  ReserveRequest,
} from '../../model/reservation/messages.js';
import type { ReservationView } from '../../schema/output/reservation.js';

/** Everything the calendar of reservations can be asked. */
export const reserveUpdate = defineUpdate<ReserveReply, [ReserveRequest]>('reserve');
export const extendUpdate = defineUpdate<ReserveReply, [ExtendRequest]>('extend');
/** Before it has begun. */
export const cancelReservationUpdate = defineUpdate<ReserveReply, [ReservationRequest]>('cancel');
/** Ends a reservation before its time. */
export const returnUpdate = defineUpdate<ReserveReply, [ReservationRequest]>('return');
/** The user is about to learn how to log in: from then on its machines may have been used. */
export const logInUpdate = defineUpdate<ReserveReply, [LogInRequest]>('logIn');
/** Null for one that is not remembered. */
export const reservationQuery = defineQuery<ReservationView | null, [id: string]>('reservation');
/** A page of them, oldest first, from after an id. */
export const reservationsQuery = defineQuery<ReservationsPage, [ReservationsRequest]>('reservations');

export interface ReservationsRequest {
  readonly after?: string;
  /** Those that are over and closed, too. */
  readonly all?: boolean;
  readonly user?: string;
  readonly machine?: string;
}

export interface ReservationsPage {
  readonly reservations: readonly ReservationView[];
  readonly next?: string;
}
