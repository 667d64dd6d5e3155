import { setTimeout as sleep } from 'node:timers/promises';
import { CliError } from './errors.js';
import { catchInterrupt } from './interrupts.js';
import type { ServerView } from '../schema/output/status.js';
import { findTroubles } from './system/troubles.js';

/** How to find and report what keeps the workflows of an operation from continuing. */
export interface Obstacles {
  readonly view: () => Promise<ServerView>;
  /** The command that shows all of them. */
  readonly more: string;
  /** Undefined once there is none. */
  readonly onChange: (text: string | undefined) => void;
}

/**
 * Waits for an end. An interrupt stops the waiting, but not the work. Meanwhile, obstacles are reported.
 * @throws CliError Interrupted
 */
export async function untilInterrupted<Result>(
  wait: (signal: AbortSignal) => Promise<Result>,
  what: string,
  next: string,
  obstacles?: Obstacles,
): Promise<Result> {
  const { signal, race, release } = catchInterrupt();
  const ended = new AbortController();
  if (obstacles !== undefined) void followObstacles(obstacles, ended.signal);
  try {
    return await race(wait(signal));
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new CliError('Interrupted', `stopped watching; ${what} continues`, { next, cause });
  } finally {
    ended.abort();
    release();
  }
}

/** Between two probes, in ms: an attempt that fails once is retried sooner. */
const probeMs = 10_000;

/** Needs no worker. Ends with the signal. */
async function followObstacles({ view, more, onChange }: Obstacles, signal: AbortSignal): Promise<void> {
  let reported: string | undefined;
  for (;;) {
    await sleep(probeMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const server = await view().catch(() => undefined);
    // The wait itself reports a server that does not answer.
    if (server === undefined) continue;
    const [first, ...others] = findTroubles(server, Date.now());
    const text =
      first === undefined
        ? undefined
        : `stuck: ${first.gist.split('\n')[0]}${others.length === 0 ? '' : ` (and ${others.length} more: ${more})`}`;
    if (text !== reported) onChange(text);
    reported = text;
  }
}
