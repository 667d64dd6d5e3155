import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { childEnvironment } from '../config/child-environment.js';

/** Identifies a process: a pid may be reused, a pid and start time together may not. */
export interface ProcessRecord {
  readonly pid: number;
  readonly started: string;
}

/** The record of a process that runs now; undefined when none does (a zombie does not run). */
export async function recordProcess(pid: number): Promise<ProcessRecord | undefined> {
  const started = process.platform === 'linux' ? await startedOnLinux(pid) : await startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** Whether exactly this process, not another one under its pid, still runs. */
export async function isRunning(recorded: ProcessRecord): Promise<boolean> {
  return (await recordProcess(recorded.pid))?.started === recorded.started;
}

/** Ends this very process: asks, waits up to `patienceMs`, then kills. Returns when it is gone. */
export async function endProcess(recorded: ProcessRecord, patienceMs = 10_000): Promise<void> {
  const killAt = Date.now() + patienceMs;
  let signal: NodeJS.Signals = 'SIGTERM';
  for (let sent = false; await isRunning(recorded); await sleep(50)) {
    if (signal === 'SIGTERM' && Date.now() >= killAt) [signal, sent] = ['SIGKILL', false];
    if (!sent) process.kill(recorded.pid, signal);
    sent = true;
  }
}

/** The start time counts from the boot, so the boot id belongs to it. */
async function startedOnLinux(pid: number): Promise<string | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ]);
    // The program's name is in parentheses and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    return state === 'Z' || state === 'X' || start === undefined ? undefined : `${boot.trim()}:${start}`;
  } catch {
    return undefined;
  }
}

async function startedByPs(pid: number): Promise<string | undefined> {
  const found = await promisify(execFile)('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
    env: childEnvironment(),
  }).catch(() => undefined);
  const [, state, started] = /^\s*(\S+)\s+(.*\S)\s*$/.exec(found?.stdout ?? '') ?? [];
  return state === undefined || state.startsWith('Z') ? undefined : started;
}
