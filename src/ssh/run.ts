import { setTimeout as delay } from 'node:timers/promises';
import { PluginError } from '../plugins/errors.js';
import { cancelRun } from './cancel.js';
import { connectionLost } from './failure.js';
import { followClaimed, followRun, type RunPlace } from './follow.js';
import { packRun, runFolderName, fenceText } from './run-upload.js';
import type { RunEnd, RunOptions, RunRequest } from './run-options.js';
import { RunProgress } from './run-progress.js';
import { startRun } from './start-run.js';

/** Delays before the connection is tried again; they restart whenever data arrived. */
const pauses = [100, 500, 2_000];

/**
 * Runs a script exactly once under its id and waits for its end: starts it unless that happened before,
 * reports its output, and continues after a lost connection.
 * @throws PluginError Retryable if the node is unreachable for several seconds (the script may be running; a
 * later call with the same id waits for it), Auth, Invalid (refused before anything started), UnknownOutcome
 * (it was claimed, and nothing of it is left on the node).
 */
export async function runOnce(request: RunRequest, options: RunOptions): Promise<RunEnd> {
  const { signal, detach } = options;
  const place = {
    runs: request.runsFolder ?? '',
    run: runFolderName(request.runId),
    id: request.runId,
    sudo: request.script.sudo,
    fence: fenceText(request.fence),
  };
  const packed = packRun(request.script, request.bounds);
  const progress = new RunProgress(options);
  const stop = new AbortController();
  const forward = () => stop.abort();
  signal?.addEventListener('abort', forward, { once: true });
  detach?.addEventListener('abort', forward, { once: true });
  try {
    for (let failures = 0; ; failures++) {
      if (signal?.aborted === true) {
        await cancelRun(place, progress, options);
        return await readRest(place, progress, options);
      }
      if (detach?.aborted === true)
        throw new PluginError('Retryable', `detached from run ${request.runId}, which continues on its node`);
      const before = progress.signs;
      let problem: unknown;
      try {
        const connection = await options.connect();
        const end = progress.claimed
          ? await followClaimed(connection, place, progress, stop.signal)
          : await startRun(connection, place, packed, progress, stop.signal);
        if (end !== undefined && end !== 'absent') return end;
        problem = connectionLost(connection.target);
      } catch (error) {
        if (!(error instanceof PluginError) || error.kind !== 'Retryable') throw error;
        problem = error;
      }
      if (stop.signal.aborted) continue;
      if (progress.signs > before) failures = 0;
      const pause = pauses[failures];
      if (pause === undefined) throw problem;
      await delay(pause, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  } finally {
    signal?.removeEventListener('abort', forward);
    detach?.removeEventListener('abort', forward);
  }
}

/** What the script still said while it was ended. */
async function readRest(place: RunPlace, progress: RunProgress, options: RunOptions): Promise<RunEnd> {
  const cancelled = progress.end('cancel', undefined);
  try {
    const connection = await options.connect();
    const end = await followRun(connection, place, progress, AbortSignal.timeout(5_000));
    return typeof end === 'object' ? end : cancelled;
  } catch {
    // It is ended all the same; only its last words are missing.
    return cancelled;
  }
}
