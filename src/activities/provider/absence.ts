/**
 * Machines that a provider did not show, and since when. A machine missing at an eventually consistent
 * provider counts as gone only if it is still missing after the consistency window. Kept in memory: a new
 * worker waits once more.
 */
export interface Absences {
  /** Notes that the machine of this key was not seen; gives for how many ms it has been missed. */
  miss(key: string): number;
  /** It was seen, or is done with. */
  forget(key: string): void;
}

/** A miss that old says nothing of now: the machine may have been there in between. */
const staleMs = 30 * 60_000;

const remembered = 10_000;

export function createAbsences(): Absences {
  const missedAt = new Map<string, number>();
  return {
    miss(key) {
      const now = performance.now();
      const since = missedAt.get(key);
      if (since !== undefined && now - since < staleMs) return now - since;
      missedAt.delete(key);
      missedAt.set(key, now);
      if (missedAt.size > remembered) missedAt.delete(missedAt.keys().next().value ?? '');
      return 0;
    },
    forget: (key) => {
      missedAt.delete(key);
    },
  };
}
