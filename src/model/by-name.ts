/**
 * A table that has its own names alone. What users and plugins name may be that of a member of
 * every object, such as `constructor`, which a plain object would find.
 */
export function byName<Value>(entries: Iterable<readonly [string, Value]>): Readonly<Record<string, Value>> {
  return Object.assign(Object.create(null) as Record<string, Value>, Object.fromEntries(entries));
}
