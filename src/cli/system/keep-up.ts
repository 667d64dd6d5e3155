import { setTimeout as sleep } from 'node:timers/promises';
import { readLogTail, type Launched } from '../../server/launch.js';

export interface KeepUpOptions {
  /** For messages. */
  readonly name: string;
  readonly logFile: string;
  readonly say: (line: string) => void;
  /** Starts it again, and resolves when it is ready. */
  readonly again: () => Promise<Launched>;
  /** Called when it is back, under another process id. */
  readonly onBack: () => void;
}

export interface KeptUp {
  readonly pid: () => number;
  /** Stops it, and the restarting. */
  readonly stop: () => Promise<void>;
}

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** A process that ran this long, in ms, is restarted without a longer pause. */
const healthyMs = 60_000;

/** Starts a process again whenever it dies, with longer pauses when it keeps dying. */
export function keepUp(first: Launched, { name, logFile, say, again, onBack }: KeepUpOptions): KeptUp {
  const stopped = new AbortController();
  let current = first;
  const watch = async (): Promise<void> => {
    let pauseMs = firstPauseMs;
    for (;;) {
      const since = Date.now();
      const how = await current.ended;
      if (stopped.signal.aborted) return;
      pauseMs = Date.now() - since > healthyMs ? firstPauseMs : pauseMs;
      say(
        `the ${name} ended (${how}); it is started again in ${pauseMs / 1_000} s. The end of its log (${logFile}):\n${await readLogTail(logFile, 3)}`,
      );
      await sleep(pauseMs, undefined, { signal: stopped.signal });
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      current = await again();
      if (stopped.signal.aborted) await current.end();
      else onBack();
      say(`the ${name} is back`);
    }
  };
  const retry = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await watch().catch((error: unknown) => {
        if (!stopped.signal.aborted)
          say(
            `the ${name} could not be started again: ${error instanceof Error ? error.message : String(error)}`,
          );
      });
    }
  };
  const done = retry();
  return {
    pid: () => current.pid,
    async stop() {
      stopped.abort();
      await current.end();
      await done;
    },
  };
}
