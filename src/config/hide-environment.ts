import { closeSync, openSync, writeSync } from 'node:fs';
import { readStat } from './process-table.js';

/**
 * Overwrites the environment that this process was started with, which programs of the same
 * user can read in `/proc/PID/environ` on Linux; `process.env` keeps all values. If the kernel
 * does not allow this, the process continues with a warning.
 */
export function hideEnvironment(): void {
  if (process.platform !== 'linux') return;
  try {
    overwrite();
  } catch (error) {
    process.emitWarning(
      `programs of this user can read the environment of this process in /proc/${process.pid}/environ: ${String(error)}`,
    );
  }
}

function overwrite(): void {
  // Moves each variable to the heap, because the original memory is cleared below.
  for (const [name, value] of Object.entries(process.env)) process.env[name] = value;
  const [start, end] = environmentRange();
  const memory = openSync('/proc/self/mem', 'r+');
  try {
    writeSync(memory, Buffer.alloc(end - start), 0, end - start, start);
  } finally {
    closeSync(memory);
  }
}

/** Fields 50 and 51 of proc_pid_stat(5). */
function environmentRange(): readonly [start: number, end: number] {
  const fields = readStat('self');
  const [start, end] = [Number(fields[47]), Number(fields[48])];
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start <= 0 || end <= start)
    throw new Error('/proc/self/stat does not show where the environment is');
  return [start, end];
}
