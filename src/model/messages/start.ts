import { skewMs } from './envelope.js';
import type { Seal } from './seal.js';
import { isId, sealAgainType, sealedAt, type MessageRefusal } from './taken.js';

/** Data of the start of a run that the server itself reports. */
export interface StartedRun {
  readonly workflowId: string;
  /** The run that it continues. */
  readonly continuedFrom?: string;
  /** The run of its parent. */
  readonly parent?: string;
  /** Ms since the epoch. */
  readonly startedAt: number;
}

/**
 * Types of workflows that store or compute what their start holds, and change nothing: it may be repeated.
 */
export const repeatableStarts: readonly string[] = ['artifactPart', 'plan'];

/**
 * How long the start of a client is valid, in ms. The server notes the start as it arrives,
 * whether a worker runs or not.
 */
const startMs = 60_000;

/** What the server appends to the workflow id in a Schedule. */
const scheduleTime = /-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/**
 * Why a run must not be started by a payload, although it was sealed for this workflow; undefined if it may.
 */
export function refuseStart(seal: Seal, run: StartedRun): MessageRefusal | undefined {
  const why = whyRefused(seal, run);
  // The clocks may have been set since the sender compared them.
  return why === undefined
    ? undefined
    : { is: why === tooOld || why === fromLater ? sealAgainType : 'Invalid', why };
}

function whyRefused(seal: Seal, run: StartedRun): string | undefined {
  const { after, parent, scheduled } = seal;
  if (after !== undefined || run.continuedFrom !== undefined)
    return after !== undefined && after.run === run.continuedFrom ? undefined : ofAnotherRun;
  if (parent !== undefined || run.parent !== undefined)
    return parent === run.parent ? undefined : ofAnotherParent;
  if (scheduled === true) return scheduleTime.test(run.workflowId) ? undefined : notScheduled;
  const at = sealedAt(seal);
  if (!isId(seal.id) || at === undefined) return withoutId;
  if (at > run.startedAt + skewMs) return fromLater;
  // The codec server has its own limit: its messages are often written by hand.
  if (seal.until === undefined && at < run.startedAt - startMs - skewMs) return tooOld;
  return undefined;
}

const ofAnotherRun = 'the start was refused: it contains the state of a run that this run does not continue';
const ofAnotherParent =
  'the start was refused: another run of the parent workflow sealed it, and it is valid for the child of that run alone';
const notScheduled =
  'the start was refused: it belongs to a Schedule, but this workflow was started by a caller';
const withoutId =
  "the start was sealed without an id and a time, so it could be repeated: use the heddle command, or a Temporal client with Heddle's plugin";
const tooOld =
  "the start was sealed too long ago, or by a clock that is behind the Temporal server's: synchronise it, then start the workflow again";
const fromLater =
  "the start was sealed by a clock that is ahead of the Temporal server's: synchronise it, then start the workflow again";
