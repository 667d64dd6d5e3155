import { upsertMemo, workflowInfo, type WorkflowInterceptors } from '@temporalio/workflow';
import { contractOf } from '../model/messages/table.js';
import { readSealedResult } from '../model/messages/sealed-result.js';

/**
 * What Heddle's workflows know of time and of the size of their history. Both come from the
 * header of a workflow task, and a replay may cut the same history into other tasks. So they
 * enter with recorded inputs only: a message brings the time of its task, the result of an
 * activity its own time, a timer the time at which it was due. Between two inputs the clock
 * stands still, however many tasks there are. See docs/decisions/0034-any-cut.md.
 */
interface Recorded {
  /** The workflow's clock, in ms since the epoch. Never ahead of the server's. */
  at: number;
  /** Inputs of this run so far. */
  inputs: number;
  /** The history has more bytes than an entity should have in its history. */
  isLarge: boolean;
  /** The server suggests to continue as new. */
  continueAsNewSuggested: boolean;
}

// Each run of a workflow has its own instance of this module.
let known: Recorded | undefined;
let taskAt = 0;

const maxBytes = 12 * 1024 * 1024;

/** What the recorded inputs of this run said last. */
export function recorded(): Readonly<Recorded> {
  return (known ??= {
    at: workflowInfo().startTime.getTime(),
    inputs: 0,
    isLarge: false,
    continueAsNewSuggested: false,
  });
}

/**
 * The time of the present workflow task, in ms since the epoch. Only for checks that leave no
 * trace in the state, such as validators of updates.
 */
export function taskTime(): number {
  return taskAt;
}

/**
 * Takes in a message, or another input without a time of its own. The caller leaves a command,
 * or the server writes an event for the input: a task with commands is never merged with the
 * next one, so the input always meets the same task.
 */
export function takeMessage(): void {
  takeInput(taskAt);
  // The size is that of a workflow task, which must not be merged with another one.
  if (takeSize()) leaveMark();
}

/** The clock reaches a time for which a timer waited. */
export function reachTime(at: number): void {
  known = { ...recorded(), at: Math.max(recorded().at, at) };
  setClock(known.at);
}

/**
 * A command without effect, for an input that would leave none: it removes a memo field that does not exist.
 */
export function leaveMark(): void {
  upsertMemo({ heddleMark: undefined });
}

function takeInput(at: number): void {
  const before = recorded();
  known = { ...before, at: Math.max(before.at, at), inputs: before.inputs + 1 };
  setClock(known.at);
}

/**
 * Takes in the size of the history as the present task has it; whether that changed. Only where the task has
 * a command: a task in which a result leads to none may be merged with the next one, which has another size.
 */
function takeSize(): boolean {
  const { historySize, continueAsNewSuggested } = workflowInfo();
  const before = recorded();
  known = {
    ...before,
    isLarge: before.isLarge || historySize > maxBytes,
    continueAsNewSuggested: before.continueAsNewSuggested || continueAsNewSuggested,
  };
  return known.isLarge !== before.isLarge || known.continueAsNewSuggested !== before.continueAsNewSuggested;
}

/** Sets what `Date` says; the SDK keeps the time of a workflow in this field of its own. */
function setClock(at: number): void {
  clockOfSdk().now = at;
  if (Date.now() !== at) throw new Error('this version of the Temporal SDK keeps the time elsewhere');
}

interface ClockOfSdk {
  now: number;
}

function clockOfSdk(): ClockOfSdk {
  return (globalThis as unknown as { readonly __TEMPORAL_ACTIVATOR__: ClockOfSdk }).__TEMPORAL_ACTIVATOR__;
}

function isOurs(): boolean {
  return contractOf(workflowInfo().workflowType) !== undefined;
}

/** Runs before all other interceptors of results, so that they see what the activity returned. */
export const interceptors = (): WorkflowInterceptors => ({
  internals: [
    {
      activate(input, next) {
        const isQuery = input.activation.jobs?.some(({ queryWorkflow }) => queryWorkflow != null) === true;
        // The SDK sets the time for each activation but those of queries.
        if (!isQuery) taskAt = clockOfSdk().now;
        if (!isOurs()) return next(input);
        setClock(isQuery ? taskAt : recorded().at);
        try {
          next(input);
        } finally {
          setClock(recorded().at);
        }
      },
    },
  ],
  inbound: [
    {
      validateUpdate(input, next) {
        if (!isOurs()) return next(input);
        setClock(taskAt);
        try {
          next(input);
        } finally {
          setClock(recorded().at);
        }
      },
    },
  ],
  outbound: [
    {
      async startTimer(input, next) {
        if (!isOurs()) return next(input);
        const due = recorded().at + input.durationMs;
        await next(input);
        takeInput(due);
      },
      async scheduleActivity(input, next) {
        if (!isOurs()) return next(input);
        takeSize();
        let result: unknown;
        try {
          result = await next(input);
        } catch (error) {
          // The server makes failures, too, and those have no time.
          takeMessage();
          leaveMark();
          throw error;
        }
        takeInput(readSealedResult(result).at);
        return result;
      },
    },
  ],
});
