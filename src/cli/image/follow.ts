import { setTimeout as sleep } from 'node:timers/promises';
import type { ImageView } from '../../model/image/view.js';
import { imageWorkflowId } from '../../model/names.js';
import { anySignal } from '../../model/signals.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { formatDuration } from '../format.js';
import type { Session } from '../session.js';
import { readWorkflows } from '../system/server-view.js';
import { untilInterrupted } from '../waiting.js';
import { waitKey, waitsOf } from './waits.js';

export interface FollowOptions extends ServerOptions {
  readonly wait: boolean;
  /** In ms. */
  readonly timeout?: number;
}

export interface Followed<Result> {
  readonly name: string;
  /** What is waited for: "the build of image web". */
  readonly what: string;
  readonly wait: (signal: AbortSignal, onView: (view: ImageView) => void) => Promise<Result>;
}

/** A timer of Node.js that is set to more than this fires at once; in ms. */
const longestTimerMs = 2 ** 31 - 1;

/** Between two probes, in ms. */
const probeMs = 2_000;

/**
 * Waits for an end and prints what the work waits for whenever that changes.
 * @throws CliError Interrupted, or Failed with what it waited for at the time limit; the work continues.
 */
export async function followImage<Result>(
  session: Session,
  { timeout }: FollowOptions,
  { name, what, wait }: Followed<Result>,
): Promise<Result> {
  const next = `heddle image show ${name}`;
  const limit = new AbortController();
  const timer =
    timeout === undefined
      ? undefined
      : setTimeout(() => limit.abort(new Error('timed out')), Math.min(timeout, longestTimerMs));
  const ended = new AbortController();
  let view: ImageView | undefined;
  const waits = openWaits(session, name, () => view);
  void printWaits(session, waits, ended.signal);
  try {
    return await untilInterrupted(
      (signal) => {
        const waiting = wait(anySignal([signal, limit.signal]), (seen) => (view = seen));
        waiting.catch(() => undefined);
        return Promise.race([waiting, rejection(limit.signal)]);
      },
      what,
      next,
    );
  } catch (cause) {
    if (!limit.signal.aborted) throw cause;
    const known = await waits();
    throw new CliError(
      'Failed',
      `${what} did not end within ${formatDuration(timeout ?? 0)}, and continues: ${known.join('; ') || 'it is in progress'}`,
      { next, cause },
    );
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

function openWaits(
  { temporal }: Session,
  name: string,
  view: () => ImageView | undefined,
): () => Promise<readonly string[]> {
  return async () => {
    try {
      const server = await readWorkflows(temporal, [imageWorkflowId(name)], `image ${name}`);
      return waitsOf(view(), server, Date.now());
    } catch {
      // The wait itself reports a server that does not answer.
      return [];
    }
  };
}

async function printWaits(
  { output }: Session,
  waits: () => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<void> {
  let printed = new Set<string>();
  for (;;) {
    await sleep(probeMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const lines = await waits();
    if (signal.aborted) return;
    for (const line of lines) if (!printed.has(waitKey(line))) output.line(line);
    printed = new Set(lines.map(waitKey));
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
