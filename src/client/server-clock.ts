import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { protoMs } from './proto-time.js';

/** How far this host's clock is ahead of the Temporal server's, in ms; negative if it is behind. */
export interface ClockOffset {
  readonly aheadMs: number;
  /** Half of the time that the measurement took: the offset is exact to this. */
  readonly uncertaintyMs: number;
  /** `performance.now()` and `Date.now()` of the measurement. */
  readonly at: { readonly monotonicMs: number; readonly wallMs: number };
}

/** Nothing is ever scheduled on this queue. */
const taskQueue = { name: 'heddle.clock' };
// temporal.api.enums.v1.TaskQueueType
const activityTasks = 2;

const limitMs = 5_000;

/**
 * Measures the clock of this host against the server's. No answer of the server carries its time, but it
 * notes by its clock when a worker polled a queue: this polls a queue of its own and asks for the note.
 * Undefined if the server does not show it.
 */
export async function measureServerClock(
  connection: Connection,
  namespace: string,
): Promise<ClockOffset | undefined> {
  const identity = `clock ${randomUUID()}`;
  const end = new AbortController();
  let isOver = false;
  const polled = connection
    .withAbortSignal(end.signal, () =>
      connection.withDeadline(Date.now() + 2 * limitMs, () =>
        connection.workflowService.pollActivityTaskQueue({ namespace, taskQueue, identity }),
      ),
    )
    .then(
      () => undefined,
      () => undefined,
    )
    .finally(() => {
      isOver = true;
    });
  try {
    return await readPollTime(connection, namespace, { identity, isOver: () => isOver });
  } catch {
    return undefined;
  } finally {
    end.abort();
    await polled;
  }
}

async function readPollTime(
  connection: Connection,
  namespace: string,
  { identity, isOver }: { readonly identity: string; readonly isOver: () => boolean },
): Promise<ClockOffset | undefined> {
  const begun = performance.now();
  // Read once: a clock that jumps during the measurement would falsify it.
  const wall = Date.now();
  for (let pauseMs = 5; performance.now() - begun < limitMs; pauseMs = Math.min(2 * pauseMs, 500)) {
    const { pollers } = await connection.withDeadline(Date.now() + limitMs, () =>
      connection.workflowService.describeTaskQueue({ namespace, taskQueue, taskQueueType: activityTasks }),
    );
    const seen = (pollers ?? []).find((poller) => poller.identity === identity);
    if (seen?.lastAccessTime != null) {
      const uncertaintyMs = (performance.now() - begun) / 2;
      return {
        aheadMs: wall + uncertaintyMs - protoMs(seen.lastAccessTime),
        uncertaintyMs,
        at: { monotonicMs: begun + uncertaintyMs, wallMs: wall + uncertaintyMs },
      };
    }
    // The server may not permit to poll.
    if (isOver()) return undefined;
    await pause(pauseMs);
  }
  return undefined;
}

/** More than clocks that are adjusted slowly differ, and less than matters to a message. */
const mostDriftMs = 5_000;

/** Pause, in ms, before a server that shows no time is measured again: a failed measurement takes seconds. */
const vainMs = 60_000;

/** A failed measurement, by `Date.now()`. */
interface Vain {
  readonly endedAt: number;
}

const measurements = new WeakMap<Connection, Promise<ClockOffset | Vain>>();

const clocks = new WeakMap<object, () => number | undefined>();

/** Gives a connection on which nothing can be measured another clock. */
export function shareServerTime(connection: object, now: () => number | undefined): void {
  clocks.set(connection, now);
}

/**
 * The time by the server's clock, in ms since the epoch; by this host's clock if the server does not show its
 * own.
 */
export async function serverTime(connection: object, namespace: string): Promise<number> {
  const shared = clocks.get(connection);
  if (shared !== undefined || !(connection instanceof Connection)) return shared?.() ?? Date.now();
  let known = await measurements.get(connection);
  if (known === undefined || isOutdated(known)) {
    const measuring = measure(connection, namespace);
    measurements.set(connection, measuring);
    known = await measuring;
  }
  return 'endedAt' in known ? Date.now() : timeAt(known);
}

/** The next call compares the clocks again: one of them may have been set. */
export function forgetServerTime(connection: object): void {
  if (connection instanceof Connection) measurements.delete(connection);
}

async function measure(connection: Connection, namespace: string): Promise<ClockOffset | Vain> {
  return (await measureServerClock(connection, namespace)) ?? { endedAt: Date.now() };
}

function isOutdated(known: ClockOffset | Vain): boolean {
  return 'endedAt' in known ? Math.abs(Date.now() - known.endedAt) > vainMs : wasSuspended(known);
}

/** Whether the host has slept, during which its monotonic clock stands still, or its clock was set. */
function wasSuspended({ at }: ClockOffset): boolean {
  return Math.abs(Date.now() - at.wallMs - (performance.now() - at.monotonicMs)) > mostDriftMs;
}

/** The server's time now, from an earlier measurement, whatever has become of this host's clock. */
export function timeAt({ aheadMs, at }: ClockOffset): number {
  return Math.round(at.wallMs - aheadMs + (performance.now() - at.monotonicMs));
}

/** Largest difference with which a worker takes tasks, in ms. */
export const clockBoundMs = 60_000;

/** Whether the clocks differ by more than a bound for certain. */
export function isBeyond({ aheadMs, uncertaintyMs }: ClockOffset, boundMs: number): boolean {
  return Math.abs(aheadMs) - uncertaintyMs > boundMs;
}

/** `2 h ahead of` the server's, or behind it. */
export function describeOffset({ aheadMs }: ClockOffset): string {
  const ms = Math.abs(aheadMs);
  const size = ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
  return `${size} ${aheadMs < 0 ? 'behind' : 'ahead of'} the Temporal server's`;
}
