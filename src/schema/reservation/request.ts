import { z } from 'zod';
import { machineActions } from '../../model/machine/actions.js';
import { parseImageRef } from '../../model/machine/image.js';
import type { ReserveRequest } from '../../model/reservation/contract.js';
import { mostMachines } from '../../model/reservation/check.js';
import { parseDuration } from '../../model/duration.js';
import { durationSchema } from '../duration.js';
import { simpleNameSchema, pluginNameSchema } from '../names.js';
import { errorAt, type Problem } from '../problem.js';
import { problemsFromZod } from '../zod-problems.js';
import { groupSchema, labelsSchema } from '../machine-tags.js';
import { parseMoment } from './moment.js';

const machineName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$/, {
    error: 'Lower-case letters, digits and hyphens; at most 50 characters.',
  });
const moment = z
  .string()
  .refine((text) => parseMoment(text) !== undefined, {
    error:
      'is not a valid time: use 2026-07-01T09:00:00Z, or 2026-07-01 09:00 in the time zone of this machine',
  });

/** A request for machines, as users write it. */
const reservationSchema = z.strictObject({
  image: z
    .string()
    .refine((text) => parseImageRef(text) !== undefined, {
      error:
        'is not a valid image: use name, or name@revision, of letters, digits, dots, underscores and hyphens',
    }),
  user: z
    .string()
    .max(100)
    .regex(/^\P{Cc}*[^\p{Cc}\s]\P{Cc}*$/u, {
      error: 'Must be a name without control characters, of at most 100 characters.',
    }),
  from: moment.exactOptional(),
  to: moment.exactOptional(),
  for: durationSchema.exactOptional(),
  machines: z.array(machineName).min(1).max(mostMachines).exactOptional(),
  count: z.int().min(1).max(mostMachines).exactOptional(),
  site: simpleNameSchema.exactOptional(),
  provider: simpleNameSchema.exactOptional(),
  type: pluginNameSchema.exactOptional(),
  can: z
    .array(
      z.enum(machineActions).meta({ description: 'An action of machines, such as POWER_RESET or CAPTURE.' }),
    )
    .min(1)
    .max(machineActions.length)
    .exactOptional(),
  group: groupSchema.exactOptional(),
  labels: labelsSchema.exactOptional(),
});
export type WrittenReservation = z.input<typeof reservationSchema>;

export type ReservationReading =
  | { readonly ok: true; readonly request: Omit<ReserveRequest, 'by'> }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Validates the whole request and converts its times. */
export function readReservation(written: WrittenReservation, now: number): ReservationReading {
  const parsed = reservationSchema.safeParse(written);
  if (!parsed.success)
    return { ok: false, problems: problemsFromZod(reservationSchema, parsed.error, written) };
  const { image: imageText, user, machines, count, site, provider, type, can, group, labels } = parsed.data;
  const problems: Problem[] = [];
  const image = parseImageRef(imageText);
  const from = parsed.data.from === undefined ? undefined : parseMoment(parsed.data.from);
  const to = endOf(parsed.data, from ?? now);
  const names = machines === undefined ? undefined : [...new Set(machines)];
  if (to === undefined)
    problems.push(
      errorAt(
        ['to'],
        'a reservation must have one end',
        'Set either to, a time, or for, a duration such as 2h.',
      ),
    );
  else if (to <= (from ?? now))
    problems.push(
      errorAt(
        ['to'],
        `it ends at ${new Date(to).toISOString()}, which is not after its start at ${new Date(from ?? now).toISOString()}`,
      ),
    );
  if (from !== undefined && from < now - 60_000)
    problems.push(errorAt(['from'], `it starts at ${new Date(from).toISOString()}, which is in the past`));
  if (names !== undefined && names.length !== machines?.length)
    problems.push(errorAt(['machines'], 'a machine is listed twice'));
  if (names !== undefined && count !== undefined && count !== names.length)
    problems.push(
      errorAt(
        ['count'],
        `is ${count}, but ${names.length} machines are listed`,
        'Set either machines or count.',
      ),
    );
  if (problems.length > 0 || to === undefined || image === undefined) return { ok: false, problems };
  const wanted = {
    count: names?.length ?? count ?? 1,
    machines: names,
    site,
    provider,
    type,
    can,
    group,
    labels,
  };
  return { ok: true, request: { user, image, to, wanted, from } };
}

/** Undefined if neither or both are set. */
function endOf(
  { to, for: time }: { readonly to?: string; readonly for?: string | number },
  from: number,
): number | undefined {
  if ((to === undefined) === (time === undefined)) return undefined;
  if (to !== undefined) return parseMoment(to);
  const ms = time === undefined ? undefined : parseDuration(time);
  return ms === undefined ? undefined : from + ms;
}
