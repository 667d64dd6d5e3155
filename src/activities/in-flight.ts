import type { AttemptView, InFlight } from './parts.js';

export interface InFlightList extends InFlight {
  list(): readonly AttemptView[];
}

/** The attempts that this process is carrying out. */
export function createInFlight(): InFlightList {
  const attempts = new Set<AttemptView>();
  return {
    add(attempt) {
      attempts.add(attempt);
      return () => attempts.delete(attempt);
    },
    list: () => [...attempts],
  };
}
