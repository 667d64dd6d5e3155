import { setTimeout as sleep } from 'node:timers/promises';
import { readLogTail, type Launched } from '../../server/launch.js';
import { messageOf } from '../report-error.js';

/** What all processes of `heddle dev` share. */
export interface Upkeep {
  readonly logFolder: string;
  readonly say: (line: string) => void;
  /** Called when a process was restarted, under another process id. */
  readonly onBack: () => void;
}

interface KeptProcess extends Omit<Upkeep, 'logFolder'> {
  /** For messages. */
  readonly name: string;
  readonly logFile: string;
  readonly launch: () => Promise<Launched>;
  /** Waits until the process is ready; false when it ends before that, or is not ready in time. */
  readonly isReady: (child: Launched, isRunning: () => boolean) => Promise<boolean>;
}

export interface KeptUp {
  readonly pid: () => number;
  /**
   * Ends it, so that it starts again at once. Does nothing if a start is already pending; one under way is
   * repeated, as the process may have read its files before.
   */
  readonly restart: () => Promise<void>;
  /** Stops it, and the restarting. */
  readonly stop: () => Promise<void>;
}

/** Longest time in which a process becomes ready. */
export const startLimitMs = 60_000;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** A process that ran this long, in ms, is restarted without a longer pause. */
const healthyMs = 60_000;

/**
 * Starts a process, and restarts it whenever it dies, with longer pauses when it keeps dying.
 * @throws Error with the end of its log when the first start fails.
 */
export async function keepUp(kept: KeptProcess): Promise<KeptUp> {
  const { name, logFile, say, onBack } = kept;
  let current = await start(kept);
  const stopped = new AbortController();
  let pauseMs = firstPauseMs;
  let isUp = true;
  /** Whether a restart was requested since the process was launched. */
  let isRestart = false;
  const watch = async (): Promise<void> => {
    for (;;) {
      const since = Date.now();
      const how = await current.ended;
      isUp = false;
      if (stopped.signal.aborted) return;
      if (!isRestart) {
        pauseMs = Date.now() - since > healthyMs ? firstPauseMs : pauseMs;
        say(
          `the ${name} ended (${how}); restarting it in ${pauseMs / 1_000} s. The end of its log (${logFile}):\n${await readLogTail(logFile, 3)}`,
        );
        await sleep(pauseMs, undefined, { signal: stopped.signal });
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
      isRestart = false;
      current = await start(kept);
      if (isRestart || stopped.signal.aborted) {
        await current.end();
        continue;
      }
      isUp = true;
      onBack();
      say(`the ${name} is running again`);
    }
  };
  const retry = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await watch().catch((error: unknown) => {
        if (!stopped.signal.aborted) say(`the ${name} could not be restarted: ${messageOf(error)}`);
      });
    }
  };
  const done = retry();
  return {
    pid: () => current.pid,
    async restart() {
      isRestart = true;
      if (isUp) await current.end();
    },
    async stop() {
      stopped.abort();
      await current.end();
      await done;
    },
  };
}

async function start({ name, logFile, launch, isReady }: KeptProcess): Promise<Launched> {
  const child = await launch();
  let how: string | undefined;
  void child.ended.then((ended) => (how = ended));
  try {
    if (await isReady(child, () => how === undefined)) return child;
    const failure =
      how === undefined ? `was not ready within ${startLimitMs / 1_000} s` : `ended with ${how}`;
    throw new Error(
      `The ${name} ${failure}. The end of its log (${logFile}):\n${await readLogTail(logFile)}`,
    );
  } catch (error) {
    await child.end();
    throw error;
  }
}
