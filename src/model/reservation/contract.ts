import { asked, carried, image, labels, moment, who } from '../argument-shapes.js';
import { replies, row, type Contract, type RequestOf } from '../contract.js';
import { flag, id, list, number, object, optional, text, withField, type Shape } from '../shape.js';
import type { ReservationView } from '../../schema/output/reservation.js';
import type { Wanted } from './state.js';

export interface ReserveReply {
  readonly reservation: ReservationView;
}

export interface ReservationsPage {
  readonly reservations: readonly ReservationView[];
  readonly next?: string;
}

const reservation = replies<ReserveReply>();

export const reservationsContract = {
  ids: /^reservations$/,
  start: [
    optional(
      withField<unknown, unknown>(
        { carried: carried({ uid: text(100) }) },
        object({ uid: optional(text(100)) }),
      ),
    ),
  ],
  updates: {
    reserve: row(
      'Reserve machines: as many as wanted, or none.',
      [
        object({
          user: text(100),
          image: image(),
          /** In ms since the epoch, as `to`. Default: at once. */
          from: optional(moment()),
          to: moment(),
          wanted: wanted(),
          by: who(),
        }),
      ],
      reservation,
    ),
    extend: row('Extend a reservation.', [asked({ id: id(), to: moment() })], reservation),
    cancel: row('Cancel a reservation that is not ready yet.', [asked({ id: id() })], reservation),
    return: row('End a reservation that has begun.', [asked({ id: id() })], reservation),
    logIn: row(
      'Open its machines to the user: from then on they may have been used.',
      [
        asked({
          id: id(),
          /** The user's own, in place of a password. */
          publicKey: optional(text(16_384)),
        }),
      ],
      reservation,
    ),
  },
  signals: {},
  queries: {
    reservation: row(
      'One reservation; null if it is not remembered.',
      [id()],
      replies<ReservationView | null>(),
    ),
    reservations: row(
      'A page of reservations, oldest first.',
      [
        object({
          /** The last id of the page before. */
          after: optional(id()),
          /** Those that are over and closed, too. */
          all: optional(flag),
          user: optional(text(100)),
          machine: optional(text(200)),
        }),
      ],
      replies<ReservationsPage>(),
    ),
  },
} satisfies Contract;

export type ReserveRequest = RequestOf<typeof reservationsContract.updates.reserve>;
export type ExtendRequest = RequestOf<typeof reservationsContract.updates.extend>;
export type LogInRequest = RequestOf<typeof reservationsContract.updates.logIn>;
export type ReservationsRequest = RequestOf<typeof reservationsContract.queries.reservations>;

function wanted(): Shape<Wanted> {
  return object({
    count: number(-1e9, 1e9),
    machines: optional(list(text(200), 1_000)),
    site: optional(text(200)),
    provider: optional(text(200)),
    type: optional(text(200)),
    can: optional(list(text(100), 100)),
    group: optional(text(40)),
    labels: optional(labels()),
  });
}
