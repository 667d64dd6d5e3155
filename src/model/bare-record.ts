/**
 * A record for keys that people choose: it inherits nothing, so that `constructor` is absent as any other key
 * is, and `__proto__` is one like the others.
 */
export function bareRecord<Value>(entries: Iterable<readonly [string, Value]> = []): Record<string, Value> {
  const record = Object.create(null) as Record<string, Value>;
  for (const [key, value] of entries) record[key] = value;
  return record;
}
