import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { anySignal } from '../model/signals.js';
import type { ServerView } from '../schema/output/status.js';
import type { WaitOptions } from './configuration.js';
import { CliError } from './errors.js';
import { formatDuration } from './format.js';
import { catchInterrupt } from './interrupts.js';
import type { Output } from './output.js';
import { findTroubles } from './system/troubles.js';

/** What keeps the work from its end, a line each; undefined if the server does not answer. */
type ReadObstacles = () => Promise<readonly string[] | undefined>;

interface Waiting<Result> extends Pick<WaitOptions, 'timeout'> {
  /** What is waited for, such as "operation 3 of web". */
  readonly what: string;
  /** The command that shows it. */
  readonly next: string;
  readonly end: (signal: AbortSignal) => Promise<Result>;
  readonly obstacles?: ReadObstacles;
  /** Called with the obstacles every `everyMs`. */
  readonly onObstacles?: (lines: readonly string[]) => void;
  /** In ms. Default: 10 s, because an attempt that fails once is retried sooner. */
  readonly everyMs?: number;
}

/** A timer of Node.js that is set to more than this fires at once; in ms. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Waits for an end. An interrupt or the time limit ends the waiting, but not the work.
 * @throws CliError Interrupted; Failed with the obstacles at the time limit.
 */
export async function untilEnd<Result>({
  what,
  next,
  end,
  timeout,
  obstacles = () => Promise.resolve([]),
  onObstacles,
  everyMs = 10_000,
}: Waiting<Result>): Promise<Result> {
  const { signal, race, release } = catchInterrupt();
  const limit = new AbortController();
  const timer =
    timeout === undefined
      ? undefined
      : setTimeout(() => limit.abort(new Error('timed out')), Math.min(timeout, longestTimerMs));
  const ended = new AbortController();
  if (onObstacles !== undefined) void followObstacles({ obstacles, onObstacles, everyMs }, ended.signal);
  try {
    const stop = anySignal([signal, limit.signal]);
    // One for each concurrent wait.
    setMaxListeners(0, stop);
    const waiting = end(stop);
    waiting.catch(() => undefined);
    return await race(Promise.race([waiting, rejection(limit.signal)]));
  } catch (cause) {
    if (signal.aborted)
      throw new CliError('Interrupted', `stopped watching; ${what} continues`, { next, cause });
    if (!limit.signal.aborted) throw cause;
    const known = (await obstacles()) ?? [];
    throw new CliError(
      'Failed',
      `${what} did not end within ${formatDuration(timeout ?? 0)}, and continues: ${known.join('; ') || 'it is in progress'}`,
      { next, cause },
    );
  } finally {
    clearTimeout(timer);
    ended.abort();
    release();
  }
}

/** The first trouble that the server reports of workflows. Needs no worker. */
export function troublesIn(view: () => Promise<ServerView>, more: string): ReadObstacles {
  return async () => {
    // The wait itself reports a server that does not answer.
    const server = await view().catch(() => undefined);
    if (server === undefined) return undefined;
    const [first, ...others] = findTroubles(server, Date.now());
    return first === undefined
      ? []
      : [
          `stuck: ${first.gist.split('\n')[0]}${others.length === 0 ? '' : ` (and ${others.length} more: ${more})`}`,
        ];
  };
}

/**
 * Prints obstacles that are new. The same line with other numbers, such as those of progress,
 * is the same obstacle.
 */
export function printNew(output: Pick<Output, 'line'>): (lines: readonly string[]) => void {
  let printed = new Set<string>();
  const keyOf = (line: string): string => line.replaceAll(/\d+/g, '0');
  return (lines) => {
    for (const line of lines) if (!printed.has(keyOf(line))) output.line(line);
    printed = new Set(lines.map(keyOf));
  };
}

async function followObstacles(
  {
    obstacles,
    onObstacles,
    everyMs,
  }: Required<Pick<Waiting<never>, 'obstacles' | 'onObstacles' | 'everyMs'>>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const lines = await obstacles();
    if (signal.aborted) return;
    if (lines !== undefined) onObstacles(lines);
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
