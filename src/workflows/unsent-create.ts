import { activityTable } from '../model/activities.js';
import { notSent, type EngineKind, type FailureRecord } from '../model/node/failure.js';
import type { Placement } from '../model/node/placement.js';
import type { TaskFailure } from './task-failure.js';

/** Consecutive faults, as opposed to failures that may pass, at which the task fails. */
const faultLimit = 3;

/** One CREATE, over the tasks that it may take: a task that did not send it ends, and another one follows. */
export interface CreateCalls {
  /** Time left, in ms; undefined before the first task. */
  leftMs(): number | undefined;
  /** The delay before the next task, in ms; or the failure, if there is none. */
  next(failure: TaskFailure): number | FailureRecord;
}

/** @param placement of the machine; its limit is that of all tasks together */
export function beginCreate({ launchWithinMs }: Pick<Placement, 'launchWithinMs'>): CreateCalls {
  const {
    budgetMs = Infinity,
    retry: { initialMs, maximumMs },
  } = activityTable.CREATE;
  const until = Date.now() + (launchWithinMs ?? budgetMs);
  let calls = 0;
  let faults = 0;
  return {
    leftMs: () => (calls === 0 ? undefined : until - Date.now()),
    next({ record, unsent }) {
      if (record.kind !== notSent || unsent === undefined) return record;
      faults = unsent.kind === ('Internal' satisfies EngineKind) ? faults + 1 : 0;
      if (faults === faultLimit) return { ...record, kind: 'Internal' satisfies EngineKind };
      const delayMs = Math.max(unsent.againMs, Math.min(initialMs * 2 ** calls, maximumMs));
      calls += 1;
      if (Date.now() + delayMs < until) return delayMs;
      const message = `it was not done within its time limit; the last attempt said: ${record.message}`;
      return { ...record, kind: 'Timeout' satisfies EngineKind, message };
    },
  };
}
