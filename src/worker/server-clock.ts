import type { ConnectionOptions } from '@temporalio/client';
import {
  clockBoundMs,
  describeOffset,
  isBeyond,
  measureServerClock,
  timeAt,
  type ClockOffset,
} from '../client/server-clock.js';
import { openConnection } from '../server/connect.js';
import type { WorkerLog } from '../activities/parts.js';

/** Interval of measurements, in ms, and of the next one after a clock beyond the bound. */
const everyMs = 10_000;
const againMs = 1_000;

export interface ServerClock {
  /**
   * The server's time, in ms since the epoch, which this host's clock does not change; undefined if unknown.
   */
  now(): number | undefined;
  /** Resolves to the problem once this host's clock differs too much from the server's. */
  readonly beyond: Promise<string>;
  stop(): Promise<void>;
}

/**
 * Measures this host's clock against the server's, now and again. Workers run even if the server does not
 * show its time.
 * @throws Error if the clocks differ by more than the bound.
 */
export async function watchServerClock(
  location: ConnectionOptions,
  namespace: string,
  log: WorkerLog,
): Promise<ServerClock> {
  const connection = openConnection(location);
  let last = await measureServerClock(connection, namespace);
  if (last === undefined) log.warn({}, "this host's clock could not be compared with the Temporal server's");
  else if (isBeyond(last, clockBoundMs)) {
    await connection.close();
    throw new Error(problemOf(last));
  }
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let measuring = Promise.resolve();
  const beyond = new Promise<string>((resolve) => {
    const measure = async (before: ClockOffset | undefined): Promise<void> => {
      const offset = await measureServerClock(connection, namespace);
      last = offset ?? last;
      const isOff = offset !== undefined && isBeyond(offset, clockBoundMs);
      // Once may be a correction of the clock during the measurement.
      if (isOff && before !== undefined) resolve(problemOf(offset));
      else measureIn(isOff ? againMs : everyMs, isOff ? offset : undefined);
    };
    const measureIn = (ms: number, before?: ClockOffset): void => {
      if (stopped) return;
      timer = setTimeout(() => {
        measuring = measure(before);
      }, ms).unref();
    };
    measureIn(everyMs);
  });
  return {
    now: () => (last === undefined ? undefined : timeAt(last)),
    beyond,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await connection.close();
      await measuring;
    },
  };
}

function problemOf(offset: ClockOffset): string {
  return (
    `The clock of this host is ${describeOffset(offset)}; workers accept no tasks if the clock differs by more than ${clockBoundMs / 1_000} s. ` +
    'Synchronise it (chrony, systemd-timesyncd), then start the worker again'
  );
}
