import { setTimeout as delay } from 'node:timers/promises';
import type { Script } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import { cancelRun } from './cancel.js';
import type { Connection } from './connection.js';
import { connectionLost } from './failure.js';
import { followRun, nothing, type RunPlace } from './follow.js';
import { packUpload, runFolderName, turnText } from './run-upload.js';
import { RunProgress } from './run-progress.js';

export interface RunRequest {
  /** The same id never runs twice on a node. */
  readonly runId: string;
  readonly script: Script;
  /** An absolute path on the node; `$HOME/.heddle/runs` unless given. */
  readonly runsFolder?: string | undefined;
  /** Scripts of one node that have it run one at a time; without it a run minds no other. */
  readonly turn?: Turn | undefined;
}

/** Whose script it is, and which of two of a node is wanted: the later one. */
export interface Turn {
  /** The same for all tasks of a node. */
  readonly node: string;
  /**
   * When this attempt of its task was scheduled, by the one clock that all attempts share, in ms since the
   * epoch.
   */
  readonly time: number;
  /** What the task is part of. Run folders of it are kept as long as it is the node's last. */
  readonly operation: string;
}

export interface RunOptions {
  /** Gives an open connection, the pooled one or a new one. */
  readonly connect: () => Promise<Connection>;
  /** Called with output as it comes. The node is read no faster than it settles. */
  readonly onOutput?: OutputListener | undefined;
  /** Called with what the node did beside the script, such as ending an earlier one. */
  readonly onNote?: ((text: string) => void) | undefined;
  /** Ends the script: its process group gets TERM, after 5 s KILL. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Lets go of the script, which runs on: for a worker that shuts down. The run is then reported as
   * Retryable.
   */
  readonly detach?: AbortSignal | undefined;
}

export type OutputListener = (stream: 'stdout' | 'stderr', chunk: Buffer) => void | Promise<void>;

/** How a run came to its end. */
export interface RunEnd {
  /**
   * - exit: the script ended; timeout, cancel: it was ended.
   * - superseded: it was ended because a later task of its node began.
   * - full: the node's disk was full when it ended, so what it wrote cannot be trusted.
   * - died: its supervisor was killed; reboot: the machine went down under it.
   */
  readonly reason: 'exit' | 'timeout' | 'cancel' | 'superseded' | 'full' | 'died' | 'reboot';
  /** Unknown where no supervisor was left to tell. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The result file, up to a byte more than the 8 KiB that are allowed. */
  readonly result: Buffer;
}

/** Waits before the connection is tried again; counted anew whenever something came. */
const pauses = [100, 500, 2_000];

/**
 * Has a script run exactly once under its id and waits for its end: starts it unless that happened before,
 * shows its output, and after a lost connection goes on where it stopped.
 * @throws PluginError Retryable when the node cannot be reached for several seconds (the script may be
 * running; a later call with the same id waits for it), Auth, Invalid (refused before anything was started),
 * UnknownOutcome (its folder on the node vanished).
 */
export async function runOnce(request: RunRequest, options: RunOptions): Promise<RunEnd> {
  const { signal, detach } = options;
  const place = {
    runs: request.runsFolder ?? '',
    run: runFolderName(request.runId),
    id: request.runId,
    sudo: request.script.sudo,
    turn: turnText(request.turn),
  };
  const upload = packUpload(request.script);
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
        throw new PluginError('Retryable', `let go of run ${request.runId}, which goes on on its node`);
      const before = progress.signs;
      let problem: unknown;
      try {
        const connection = await options.connect();
        const end = await followRun(connection, place, upload, progress, stop.signal);
        if (end !== undefined) return end;
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
  progress.started = true;
  try {
    const connection = await options.connect();
    return (await followRun(connection, place, nothing, progress, AbortSignal.timeout(5_000))) ?? cancelled;
  } catch {
    // It is ended all the same; only its last words are missing.
    return cancelled;
  }
}
