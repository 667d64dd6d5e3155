import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { allPids, hasProcFs, readStat } from '../config/process-table.js';
import { runProgram } from '../config/run-program.js';
import { PluginError } from '../plugins/errors.js';

/** A process for ever: its pid may be given to another one later, its pid and start together may not. */
export interface ProcessMark {
  readonly pid: number;
  readonly started: string;
}

/** Undefined when none runs under that pid now; a zombie does not run. */
export async function markOf(pid: number): Promise<ProcessMark | undefined> {
  const started = hasProcFs ? await startedOnLinux(pid) : await startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

export async function isRunning({ pid, started }: ProcessMark): Promise<boolean> {
  return (await markOf(pid))?.started === started;
}

const patienceMs = 5_000;

/**
 * Whether it, or anything that it started and that stayed in its group, still runs: what it started may
 * outlive it.
 */
async function groupRuns(mark: ProcessMark): Promise<boolean> {
  const leader = await markOf(mark.pid);
  if (leader !== undefined) return leader.started === mark.started;
  if (hasProcFs) return mark.started.startsWith(`${await bootId()}:`) && hasMembers(mark.pid);
  try {
    process.kill(-mark.pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Ends it with all that it started: it leads a session of its own.
 * @throws PluginError Retryable where it does not end.
 */
export async function endGroup(mark: ProcessMark): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!(await groupRuns(mark))) return;
    try {
      process.kill(-mark.pid, signal);
    } catch {
      return;
    }
    for (const until = Date.now() + patienceMs; Date.now() < until;) {
      await pause(50);
      if (!(await groupRuns(mark))) return;
    }
  }
  throw new PluginError('Retryable', `process group ${mark.pid} does not end`);
}

/** A process number is not given away while a session has it. Zombies do not run. */
function hasMembers(leader: number): boolean {
  return allPids().some((pid) => {
    const [state, , group, session] = readStat(pid);
    return isAlive(state) && Number(group) === leader && Number(session) === leader;
  });
}

/** The start is counted from the boot, so the boot's own name belongs to it. */
async function startedOnLinux(pid: number): Promise<string | undefined> {
  const { 0: state, 19: start } = readStat(pid);
  return isAlive(state) && start !== undefined ? `${await bootId()}:${start}` : undefined;
}

function isAlive(state: string | undefined): boolean {
  return state !== 'Z' && state !== 'X';
}

async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

async function startedByPs(pid: number): Promise<string | undefined> {
  const { stdout } = await runProgram('ps', ['-o', 'state=,lstart=', '-p', String(pid)]);
  const [, state, started] = /^\s*(\S+)\s+(.*\S)\s*$/.exec(stdout) ?? [];
  return state === undefined || state.startsWith('Z') ? undefined : started;
}
