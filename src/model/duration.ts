const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** Longer waits than this are slips of the pen. */
const longest = 30 * units.d;

/** The form of a duration as text. */
export const durationPattern = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;

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

function sumOf(written: string): number | undefined {
  if (!durationPattern.test(written)) return undefined;
  let total = 0;
  for (const [, amount, unit] of written.matchAll(/([\d.]+)(ms|s|m|h|d)/g))
    total += Number(amount) * units[unit as keyof typeof units];
  return total;
}
