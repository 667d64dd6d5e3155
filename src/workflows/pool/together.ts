import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  sleep,
} from '@temporalio/workflow';
import type { Action } from '../../model/action.js';
import type { TaskOutcome, TaskRequest } from '../../model/messages.js';
import {
  isTogetherAction,
  mostTogether,
  type TogetherAction,
  type TogetherEnd,
} from '../../model/together.js';
import { runTask, runTogether, type TaskOptions } from '../run-task.js';

/**
 * For runs that began before there were batches (batch.ts). Puts tasks of several nodes into one activity:
 * what a server does for an activity is what limits how many nodes a pool can make. Lives in one run of a
 * workflow; what is lost with it is done again.
 */
export interface Carrier {
  readonly run: (action: Action, request: TaskRequest, options: TaskOptions) => Promise<TaskOutcome>;
}

interface Waiting {
  readonly action: TogetherAction;
  readonly request: TaskRequest;
  readonly options: TaskOptions;
  readonly cancelled: Promise<never>;
  readonly resolve: (end: TogetherEnd) => void;
  readonly reject: (error: unknown) => void;
}

export function createCarrier(): Carrier {
  /** What CONFIRM found of machines that were there at once, by its task's id. */
  const confirmed: Record<string, TaskOutcome> = {};
  let waiting: Waiting[] = [];
  const collect = async (): Promise<never> => {
    for (;;) {
      // Conditions are looked at when all that can go on has gone on: by then all that begins at this moment
      // has come.
      await condition(() => waiting.length > 0);
      const begun = waiting;
      waiting = [];
      for (const batch of batchesOf(begun)) void carry(batch);
    }
  };
  // It ends with the run.
  void collect();
  return {
    async run(action, request, options) {
      const ahead = confirmed[request.taskId];
      if (ahead !== undefined) {
        delete confirmed[request.taskId];
        return ahead;
      }
      if (!isTogetherAction(action)) return runTask(action, request, options);
      const cancelled = CancellationScope.current().cancelRequested;
      const end = await new Promise<TogetherEnd>((resolve, reject) => {
        waiting.push({ action, request, options, cancelled, resolve, reject });
      });
      if ('cancelled' in end) throw new CancelledFailure('CANCELLED');
      if ('outcome' in end) {
        if (end.confirmed?.result !== undefined) confirmed[confirmId(request.taskId)] = end.confirmed;
        return end.outcome;
      }
      const { kind, message, details, againMs } = end.failure;
      if (againMs === undefined) throw ApplicationFailure.nonRetryable(message, kind, details);
      await sleep(againMs);
      return runTask(action, request, options);
    },
  };
}

/** Tasks of one action at one account, in numbers that are much alike. */
function batchesOf(waiting: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const alike: Record<string, Waiting[]> = {};
  for (const one of waiting) {
    const {
      action,
      options: {
        placement: { site, provider, launchWithinMs },
      },
    } = one;
    (alike[JSON.stringify([action, site, provider, launchWithinMs])] ??= []).push(one);
  }
  return Object.values(alike).flatMap((all) => {
    const size = Math.ceil(all.length / Math.ceil(all.length / mostTogether));
    return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
      all.slice(index * size, (index + 1) * size),
    );
  });
}

async function carry(batch: readonly Waiting[]): Promise<void> {
  const [first] = batch;
  if (first === undefined) return;
  const scope = new CancellationScope({ cancellable: true });
  let wanted = batch.length;
  for (const { cancelled } of batch) {
    cancelled.catch(() => {
      wanted -= 1;
      // As long as anybody wants it, the others wait for its end: that is not far.
      if (wanted === 0) scope.cancel();
    });
  }
  try {
    const ends = await scope.run(() => perform(batch, first));
    for (const [index, { resolve, reject }] of batch.entries()) {
      const end = ends[index];
      if (end === undefined) reject(new Error('the activity gave no end for a task'));
      else resolve(end);
    }
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

async function perform(
  batch: readonly Waiting[],
  { action, request, options }: Waiting,
): Promise<readonly TogetherEnd[]> {
  if (batch.length === 1) return [{ outcome: await runTask(action, request, options) }];
  return runTogether(action, { requests: batch.map((one) => one.request) }, options);
}

/** Of the node's next task: ids differ in the action alone. */
function confirmId(createId: string): string {
  return createId.replace('/-/CREATE/', '/-/CONFIRM/');
}
