import { sleep, workflowInfo } from '@temporalio/workflow';

/**
 * Places in flight, given first come first served. Lives in one run of a workflow; holds no state of the
 * cluster.
 */
export interface Places {
  /** Resolves to false when the places were closed first. */
  take(): Promise<boolean>;
  /** False when there is none at this moment, or somebody waits for one. */
  takeNow(): boolean;
  giveBack(): void;
  /** Turns all who wait away, now and later. */
  close(): void;
}

export function createPlaces(limit: number): Places {
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
    giveBack() {
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

/**
 * What one workflow task may command, in characters of JSON. Over 4 MB Temporal ends the workflow for good.
 */
const commandSize = 700_000;

/** Spreads commands over several workflow tasks, so that none of them grows beyond what Temporal takes. */
export interface CommandBudget {
  /** Resolves when a command of this size may be given. */
  spend(size: number): Promise<void>;
}

export function createCommandBudget(): CommandBudget {
  let task = 0;
  let spent = 0;
  return {
    async spend(size) {
      for (;;) {
        // The length of the history tells one workflow task from the next.
        const { historyLength } = workflowInfo();
        if (historyLength !== task) {
          task = historyLength;
          spent = 0;
        }
        if (spent === 0 || spent + size <= commandSize) {
          spent += size;
          return;
        }
        await sleep(1);
      }
    },
  };
}
