import type { FailureRecord } from './failure.js';

/** One execution of a task's scripts in one operation. */
export interface TaskRun {
  /** Counts from 1. */
  readonly number: number;
  /** The number of the run that this one repeats automatically; absent: its own. */
  readonly first?: number;
  /** The retry that it began in; absent before the first. */
  readonly retry?: string;
  /** It is known to have ended, and the task begins another one if it comes again. */
  readonly over?: true;
}

/**
 * The run of a task that begins. A run whose end is not known goes on.
 * @param retry uid of the last retry of the operation. After a reset, a later retry has the
 * numbers of the cut-off run, so it would take the results of an earlier one.
 */
export function nextRun(last: TaskRun | undefined, retry?: string): TaskRun {
  if (last !== undefined && last.over !== true) return last;
  const number = (last?.number ?? 0) + 1;
  return retry === undefined ? { number } : { number, retry };
}

/** The run that repeats one that failed, as `attempts` of the action allows. */
export function repeatedRun(last: TaskRun, retry?: string): TaskRun {
  return { ...nextRun(endedRun(last), retry), first: last.first ?? last.number };
}

export function endedRun(run: TaskRun): TaskRun {
  return { ...run, over: true };
}

/** How many runs `attempts` of the action counts, this one included. */
export function attemptsUsed({ number, first = number }: TaskRun): number {
  return number - first + 1;
}

/** The task's name in the runs of its node. */
export function runKey({ action, service }: Pick<FailureRecord, 'action' | 'service'>): string {
  return `${service ?? '-'}/${action}`;
}
