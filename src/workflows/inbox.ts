import {
  condition as sdkCondition,
  type ActivateInput,
  type WorkflowInterceptors,
} from '@temporalio/workflow';
import type { Duration } from '@temporalio/common';
import { takeMessage } from './recorded.js';

/**
 * Messages wait here until what arrived with them, results of activities and timers, has been taken in. The
 * SDK runs the handlers of an activation before it continues the code that waits for results, and a replay
 * may present the same events in more or fewer activations. With one order for all of them (results, then
 * messages, then what follows from the state) the commands are the same. See docs/decisions/0034-any-cut.md.
 */
const inbox: (() => void)[] = [];
/** The SDK hands over the jobs of an activation; what they start runs afterwards. */
let isDelivering = false;
/** This run has had a task since the worker loaded it. */
let isLive = false;
let mayBeMerged = false;
let isTaking = false;

export const interceptors = (): WorkflowInterceptors => ({
  internals: [
    {
      activate(input, next) {
        const { jobs, isReplaying } = input.activation;
        const isTask =
          isReplaying !== true && jobs?.some(({ queryWorkflow }) => queryWorkflow == null) === true;
        mayBeMerged = isTask && !isLive && jobs.some(isResult);
        isLive ||= isTask;
        isDelivering = true;
        try {
          next(input);
        } finally {
          isDelivering = false;
          mayBeMerged = false;
        }
      },
    },
  ],
});

type Job = NonNullable<ActivateInput['activation']['jobs']>[number];

function isResult({ resolveActivity, fireTimer, resolveSignalExternalWorkflow, ...job }: Job): boolean {
  const { resolveChildWorkflowExecution, resolveChildWorkflowExecutionStart } = job;
  return [
    resolveActivity,
    fireTimer,
    resolveSignalExternalWorkflow,
    resolveChildWorkflowExecution,
    resolveChildWorkflowExecutionStart,
  ].some((result) => result != null);
}

/**
 * Whether a validator sees a state that others have seen pass: a worker that has just loaded
 * the workflow may get results of earlier tasks, which had no commands, together with an
 * update, and it validates the update before it takes them in.
 */
export function isBehindEarlierTasks(): boolean {
  return mayBeMerged;
}

/** Whether messages have arrived that have not been taken in. */
export function hasMessages(): boolean {
  return inbox.length > 0;
}

/**
 * Whether messages are taken in yet: only after the workflow has verified that its start is not
 * a repeated one.
 */
export function takesMessages(): boolean {
  return isTaking;
}

/** Does the work of a message when its turn has come. */
export function enqueue<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    inbox.push(() => {
      try {
        resolve(work());
      } catch (error) {
        reject(error as Error);
      }
    });
  });
}

/** Takes messages in, in the order of their arrival, as long as the workflow runs. */
export async function takeMessages(): Promise<never> {
  isTaking = true;
  for (;;) {
    await sdkCondition(() => !isDelivering && inbox.length > 0);
    for (let work = inbox.shift(); work !== undefined; work = inbox.shift()) {
      takeMessage();
      work();
    }
  }
}

/**
 * The order in which code that waits for the same change continues, after all other code.
 * Otherwise it would be the order in which it began to wait, and that depends on the activations.
 */
const places = [
  'node',
  'permit',
  'operation',
  'step',
  'memo',
  'search attributes',
  'reports',
  'events',
  'silent groups',
] as const;

interface Waiting {
  readonly fn: () => boolean;
  /** -1 for code without a place. */
  readonly place: number;
}

const waiting = new Set<Waiting>();

/**
 * Like the SDK's condition, but met only after the messages that have arrived. `fn` may read the state of the
 * workflow alone: a replay does not see every activation.
 */
export function condition(fn: () => boolean, timeout: Duration): Promise<boolean>;
export function condition(fn: () => boolean): Promise<void>;
export function condition(fn: () => boolean, timeout?: Duration): Promise<boolean | void> {
  return wait({ fn, place: -1 }, timeout);
}

/** A condition of code that has a place. Never met at once: what arrived with the last result comes first. */
export async function conditionOf(place: (typeof places)[number], fn: () => boolean): Promise<void> {
  await wait({ fn, place: places.indexOf(place) });
}

async function wait(self: Waiting, timeout?: Duration): Promise<boolean | void> {
  // The SDK asks once while the code begins to wait, and again after all other code has run.
  let isFirst = self.place >= 0;
  const isMet = (): boolean => {
    const isTooEarly = isFirst || isDelivering || inbox.length > 0;
    isFirst = false;
    return !isTooEarly && self.fn() && !isBehind(self);
  };
  waiting.add(self);
  try {
    return await (timeout === undefined ? sdkCondition(isMet) : sdkCondition(isMet, timeout));
  } finally {
    waiting.delete(self);
  }
}

function isBehind({ place }: Waiting): boolean {
  if (place < 0) return false;
  for (const other of waiting) if (other.place < place && other.fn()) return true;
  return false;
}
