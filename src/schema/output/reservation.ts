import { z } from 'zod';
import type { JsonObject } from '../../model/json.js';
import { assignmentStages, reservationStates } from '../../model/reservation/state.js';
import { count, json, moment, opaque, texts, type View } from './exact.js';

const reservationSchema = z
  .object({
    id: z.string(),
    state: z.enum(reservationStates),
    why: z.string().optional(),
    user: z.string(),
    image: z.string(),
    from: moment,
    to: moment,
    by: z.string(),
    askedAt: moment,
    wanted: z
      .object({
        count,
        machines: texts.optional(),
        site: z.string().optional(),
        provider: z.string().optional(),
        type: z.string().optional(),
        can: texts.optional(),
        group: z.string().optional(),
        labels: z.record(z.string(), z.string()).optional(),
      })
      .describe('The request.'),
    machines: z.array(
      z.object({
        name: z.string(),
        stage: z.enum(assignmentStages),
        doing: z.string().optional(),
        why: z.string().optional(),
      }),
    ),
    readyAt: moment.optional(),
    overAt: moment.optional(),
    notes: z.array(z.object({ at: moment, text: z.string() })),
  })
  .meta({ id: 'reservation' });

/** The public view of a reservation. */
export type ReservationView = View<typeof reservationSchema>;

export const reservationDocuments = {
  reservation: [z.object({ reservation: reservationSchema })],
  'reservation-log-in': [
    z.object({
      reservation: z.object({ id: z.string() }),
      machines: z.array(
        z.object({
          name: z.string(),
          address: json,
          port: json,
          hostKey: json,
          auth: opaque<JsonObject>('User, and password unless a key was set; empty without a log-in.'),
        }),
      ),
    }),
  ],
  reservations: [z.object({ reservations: z.array(reservationSchema) })],
};
