import { setTimeout as pause } from 'node:timers/promises';

/** Looks until there is something; undefined when the signal comes first. */
export async function lookUp<Value>(
  look: () => Promise<Value | undefined>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  for (;;) {
    const found = await look();
    if (found !== undefined || signal.aborted) return found;
    await pause(25);
  }
}
