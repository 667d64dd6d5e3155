import type { Activities } from '../model/activities.js';

/** Activities that can be replaced while they are in use: an attempt ends with those with which it began. */
export interface Replaceable {
  readonly activities: Activities;
  readonly replace: (next: Activities) => void;
}

export function replaceable(first: Activities): Replaceable {
  let current = first;
  const names = Object.keys(first) as (keyof Activities)[];
  const activities = Object.fromEntries(
    names.map((name) => [
      name,
      (...args: unknown[]): unknown => (current[name] as (...given: unknown[]) => unknown)(...args),
    ]),
  ) as unknown as Activities;
  return {
    activities,
    replace: (next) => {
      current = next;
    },
  };
}
