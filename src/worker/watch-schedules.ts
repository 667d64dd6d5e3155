import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { restoreSchedules, type ScheduleSettings } from '../server/schedules.js';

/** Interval between checks whether the Schedules exist, in ms. */
const checkMs = 30_000;

/**
 * Creates a deleted Schedule again: without it nothing would be swept or checked until a worker
 * starts. To stop a sweep, pause its Schedule. @returns a function that ends the watch.
 */
export function watchSchedules(
  temporal: Client,
  settings: ScheduleSettings,
  log: Pick<Logger, 'warn'>,
  everyMs = checkMs,
): () => void {
  const timer = setInterval(() => {
    restoreSchedules(temporal, settings).then(
      (restored) => {
        for (const id of restored) log.warn(`the schedule ${id} was deleted, and is created again`);
      },
      // Callers that need the server report that it does not respond.
      () => undefined,
    );
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
