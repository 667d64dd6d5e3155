const pattern = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Parses `2026-07-01T09:00:00Z`, or in the time zone of this machine `2026-07-01 09:00` and
 * `2026-07-01`. Returns ms since the epoch; undefined if malformed.
 */
export function parseMoment(text: string): number | undefined {
  const [, day, time = '00:00', zone = ''] = pattern.exec(text.trim()) ?? [];
  if (day === undefined) return undefined;
  const at = Date.parse(`${day}T${time}${zone}`);
  // Dates such as 30 February are refused instead of shifted.
  const isReal = new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day) === true;
  return Number.isNaN(at) || !isReal ? undefined : at;
}
