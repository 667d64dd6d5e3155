import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, type ProcessMark } from '../detached/process-mark.js';

/** Ends this very process: asks, waits up to `patienceMs`, then kills. Returns when it is gone. */
export async function endProcess(recorded: ProcessMark, patienceMs = 10_000): Promise<void> {
  const killAt = Date.now() + patienceMs;
  let signal: NodeJS.Signals = 'SIGTERM';
  for (let sent = false; await isRunning(recorded); await sleep(50)) {
    if (signal === 'SIGTERM' && Date.now() >= killAt) [signal, sent] = ['SIGKILL', false];
    if (!sent) process.kill(recorded.pid, signal);
    sent = true;
  }
}
