import { readdirSync, readFileSync } from 'node:fs';

export const hasProcFs = process.platform === 'linux';

/** Numbers of all processes, zombies included; on Linux only. */
export function allPids(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** A file of a process in /proc; empty if the process has ended or belongs to another user. */
export function readProc(pid: number | 'self', file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/** Fields of /proc/PID/stat from the third on; the second, the name, may contain blanks and brackets. */
export function readStat(pid: number | 'self'): readonly string[] {
  const text = readProc(pid, 'stat');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Signals a process, or a group by its negative id; ignores one that has ended. */
export function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
