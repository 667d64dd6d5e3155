import { setTimeout as pause } from 'node:timers/promises';

/**
 * Looks until the check gives something; fails with the words for what never came. Its patience is for
 * machines that are very busy.
 */
export async function until<Value>(
  what: string,
  check: () => Value | undefined | false | Promise<Value | undefined | false>,
  patienceMs = 240_000,
): Promise<Value> {
  const end = Date.now() + patienceMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > end) throw new Error(`waited ${patienceMs / 1000} s for: ${what}`);
    await pause(50);
  }
}
