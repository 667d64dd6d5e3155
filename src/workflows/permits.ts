import { CancellationScope } from '@temporalio/workflow';
import { conditionOf } from './inbox.js';

/** Permits for work in flight. Lives in one run of a workflow; holds no state of its entity. */
export interface Semaphore {
  /** Resolves to false when the semaphore was closed first. */
  take(holder: string): Promise<boolean>;
  /** False if no permit is free. */
  takeNow(): boolean;
  release(): void;
  /** Refuses all who wait, now and later. */
  close(): void;
}

interface Request {
  readonly holder: string;
  /** When the holder had its last permit of this semaphore, in permits granted; 0 for never. */
  readonly lastServed: number;
  readonly isDue: () => boolean;
  readonly decide: () => void;
}

/** Each run of a workflow has its own instance of this module. */
const requests = new Set<Request>();
let isGranting = false;

export function createSemaphore(limit: number): Semaphore {
  const served = new Map<string, number>();
  let granted = 0;
  let taken = 0;
  let closed = false;
  const takeNow = (): boolean => {
    if (closed || taken >= limit) return false;
    taken += 1;
    return true;
  };
  return {
    async take(holder) {
      grantPermits();
      return new Promise<boolean>((resolve) => {
        requests.add({
          holder,
          lastServed: served.get(holder) ?? 0,
          isDue: () => closed || taken < limit,
          decide: () => {
            const isGranted = takeNow();
            if (isGranted) served.set(holder, (granted += 1));
            resolve(isGranted);
          },
        });
      });
    },
    takeNow,
    release() {
      taken -= 1;
    },
    close() {
      closed = true;
    },
  };
}

/**
 * Grants permits after all results that have arrived, first to those who had none for the
 * longest time. The order of the requests would depend on how the history is cut.
 */
function grantPermits(): void {
  if (isGranting) return;
  isGranting = true;
  void CancellationScope.nonCancellable(async () => {
    for (;;) {
      await conditionOf('permit', () => [...requests].some(({ isDue }) => isDue()));
      for (const request of [...requests].toSorted(byLastServed)) {
        if (!request.isDue()) continue;
        requests.delete(request);
        request.decide();
      }
    }
  });
}

/** Holders that still wait, by their names, `app-2` before `app-10`. */
function byLastServed(one: Request, other: Request): number {
  return (
    one.lastServed - other.lastServed ||
    one.holder.length - other.holder.length ||
    (one.holder < other.holder ? -1 : 1)
  );
}
