import type { EventView } from './find-event.js';

/** What became of one history. */
export interface ReplayReport {
  readonly workflowId: string;
  readonly runId: string;
  readonly workflowType?: string;
  /** The caller's name for its origin. */
  readonly source?: string;
  readonly events: number;
  readonly ok: boolean;
  /** There unless `ok`. */
  readonly error?: ReplayFault;
}

/**
 * `nondeterminism`: commands differ from the history. `failure`: the workflow throws. `unknown-type`: the
 * build lacks this workflow type. `undecryptable`: a key is missing or of another namespace. `not-a-history`:
 * cannot be replayed.
 */
export const replayFaultKinds = [
  'nondeterminism',
  'failure',
  'unknown-type',
  'undecryptable',
  'not-a-history',
] as const;
export type ReplayFaultKind = (typeof replayFaultKinds)[number];

export interface ReplayFault {
  readonly kind: ReplayFaultKind;
  /** The difference, or the problem and its remedy. */
  readonly message: string;
  /** Where history and build differ, or where the unreadable payload is. */
  readonly event?: EventView;
  /** The SDK's message. */
  readonly detail?: string;
}
