import type { Action } from '../action.js';
import type { FailureDetails } from './failure.js';
import type { TaskOutcome, TaskRequest } from './task-request.js';

/**
 * Actions of which one activity can carry the tasks of several nodes: calls to a provider that are short and
 * bear being made twice.
 */
export const batchActions = ['CREATE', 'DELETE'] as const satisfies readonly Action[];
export type BatchAction = (typeof batchActions)[number];

/** Nodes whose tasks go together at most: they wait for the slowest of them. */
export const maxBatchSize = 20;

/** The activity's name. */
export function batchName<Which extends BatchAction>(action: Which): `${Which}_BATCH` {
  return `${action}_BATCH`;
}

export interface BatchRequest {
  readonly requests: readonly TaskRequest[];
}

/** How the task of one of the nodes ended; in the order of the requests. */
export type BatchResult =
  /** `confirmed`: of a CREATE whose machine was there at once, what CONFIRM found. */
  | { readonly outcome: TaskOutcome; readonly confirmed?: TaskOutcome }
  | { readonly failure: BatchFailure }
  | { readonly cancelled: true };

interface BatchFailure {
  readonly kind: string;
  readonly message: string;
  readonly details: FailureDetails;
  /** Delay until the task is retried, for a transient failure. Absent if a retry is pointless. */
  readonly againMs?: number;
}
