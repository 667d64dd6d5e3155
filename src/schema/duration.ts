import { z } from 'zod';

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** Longer waits than this are slips of the pen. */
const longest = 30 * units.d;

const pattern = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;

/**
 * Reads "30s", "10m", "1h30m" or a number of seconds; gives ms, or undefined where it is not a time from 1 ms
 * to 30 days.
 */
export function parseDuration(written: string | number): number | undefined {
  const total = typeof written === 'number' ? written * units.s : sumOf(written);
  if (total === undefined || !Number.isFinite(total)) return undefined;
  const rounded = Math.round(total);
  return rounded >= 1 && rounded <= longest ? rounded : undefined;
}

/** A duration; the output is a number of seconds, which is itself a valid input. */
export const durationSchema = z
  .union([z.string().meta({ pattern: pattern.source }), z.number()], { error: () => 'is not a duration' })
  .refine((written) => parseDuration(written) !== undefined, {
    error: 'is not a duration of 1 ms to 30 days',
  })
  .transform((written) => (parseDuration(written) ?? 0) / units.s)
  .meta({
    title: 'Duration',
    description: 'A text such as "30s", "10m" or "1h30m", or a number of seconds; at most 30 days.',
  });

function sumOf(written: string): number | undefined {
  if (!pattern.test(written)) return undefined;
  let total = 0;
  for (const [, amount, unit] of written.matchAll(/([\d.]+)(ms|s|m|h|d)/g))
    total += Number(amount) * units[unit as keyof typeof units];
  return total;
}
