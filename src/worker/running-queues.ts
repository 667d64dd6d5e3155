import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Worker, type WorkerOptions } from '@temporalio/worker';

export type QueueOptions = WorkerOptions & { readonly taskQueue: string };

interface Running {
  readonly options: QueueOptions;
  readonly worker: Worker;
  readonly ended: Promise<void>;
}

/** How long tasks may end before the worker of their queue is stopped, and hands them over; in ms. */
const idleMs = 30_000;

/** The Temporal workers of a process, one for each task queue. */
export interface RunningQueues {
  /** Resolves when all have shut down; rejects when one of them failed. */
  readonly done: Promise<void>;
  readonly names: () => readonly string[];
  readonly isEnding: () => boolean;
  /** Stops queues that are absent, or have other options, once their tasks have ended or were handed over. */
  stopOthers(wanted: readonly QueueOptions[]): Promise<void>;
  startMissing(wanted: readonly QueueOptions[]): Promise<void>;
  shutdown(): void;
}

export async function runQueues(wanted: readonly QueueOptions[]): Promise<RunningQueues> {
  const running = new Map<string, Running>();
  let isEnding = false;
  let [endAll, fail]: [() => void, (error: unknown) => void] = [() => undefined, () => undefined];
  const done = new Promise<void>((resolve, reject) => {
    [endAll, fail] = [resolve, reject];
  });
  const endIfEmpty = (): void => {
    if (isEnding && running.size === 0) endAll();
  };
  const run = (options: QueueOptions, worker: Worker): void => {
    const ended = worker.run().finally(() => running.delete(options.taskQueue));
    running.set(options.taskQueue, { options, worker, ended });
    ended.then(endIfEmpty, fail);
  };
  const stop = ({ worker }: Pick<Running, 'worker'>): void => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const startMissing = async (options: readonly QueueOptions[]): Promise<void> => {
    const missing = options.filter(({ taskQueue }) => !running.has(taskQueue));
    // None polls before all are created: one poll makes the process count as ready.
    const made = await Promise.allSettled(missing.map((one) => Worker.create(one)));
    for (const [index, one] of missing.entries()) {
      const result = made[index];
      if (result?.status !== 'fulfilled') continue;
      run(one, result.value);
      if (isEnding) stop({ worker: result.value });
    }
    const failed = made.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  await startMissing(wanted);
  return {
    done,
    names: () => [...running.keys()],
    isEnding: () => isEnding,
    startMissing,
    async stopOthers(options) {
      const others = [...running.values()].filter(
        (one) => !options.some((option) => isSame(one.options, option)),
      );
      await Promise.all(
        others.map(async (one) => {
          for (const end = performance.now() + idleMs; performance.now() < end; await pause(100))
            if (isEnding || one.worker.getStatus().numInFlightActivities === 0) break;
          stop(one);
          await one.ended;
        }),
      );
    },
    shutdown() {
      isEnding = true;
      for (const one of running.values()) stop(one);
      endIfEmpty();
    },
  };
}

/** Only limits differ between the options of one queue. */
function isSame(one: QueueOptions, other: QueueOptions): boolean {
  const limitsOf = ({
    taskQueue,
    maxConcurrentActivityTaskExecutions,
    maxTaskQueueActivitiesPerSecond,
  }: QueueOptions): object => ({
    taskQueue,
    maxConcurrentActivityTaskExecutions,
    maxTaskQueueActivitiesPerSecond,
  });
  return isDeepStrictEqual(limitsOf(one), limitsOf(other));
}
