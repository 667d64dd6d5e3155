/**
 * Permits for work in flight, granted in order. Lives in one run of a workflow; holds no state of the
 * cluster.
 */
export interface Semaphore {
  /** Resolves to false when the places were closed first. */
  take(): Promise<boolean>;
  /** False if no permit is free, or others wait for one. */
  takeNow(): boolean;
  release(): void;
  /** Turns away all waiters, now and later. */
  close(): void;
}

export function createSemaphore(limit: number): Semaphore {
  const waiting: ((granted: boolean) => void)[] = [];
  let taken = 0;
  let closed = false;
  return {
    async take() {
      if (closed) return false;
      if (taken < limit) {
        taken += 1;
        return true;
      }
      return new Promise<boolean>((resolve) => {
        waiting.push(resolve);
      });
    },
    takeNow() {
      if (closed || taken >= limit) return false;
      taken += 1;
      return true;
    },
    release() {
      const next = waiting.shift();
      if (next === undefined) taken -= 1;
      else next(true);
    },
    close() {
      closed = true;
      for (const turnAway of waiting.splice(0)) turnAway(false);
    },
  };
}
