import { z } from 'zod';
import { durationPattern, parseDuration } from '../model/duration.js';

/** A duration; the output is a number of seconds, which is itself a valid input. */
export const durationSchema = z
  .union([z.string().meta({ pattern: durationPattern.source }), z.number()], {
    error: () => 'is not a duration',
  })
  .refine((written) => parseDuration(written) !== undefined, {
    error: 'is not a duration of 1 ms to 30 days',
  })
  .transform((written) => (parseDuration(written) ?? 0) / 1_000)
  .meta({
    title: 'Duration',
    description: 'Text such as "30s", "10m" or "1h30m", or a number of seconds; at most 30 days.',
  });
