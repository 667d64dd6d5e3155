import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { childEnvironment } from '../../config/child-environment.js';
import { allPids, hasProcFs, readProc, readStat } from '../../config/process-table.js';

interface Usage {
  readonly bytes: number;
  readonly processes: number;
}

/** Memory and number of processes of each process group; groups without processes are omitted. */
export function usageOf(groups: ReadonlySet<number>): ReadonlyMap<number, Usage> {
  const usage = new Map<number, Usage>();
  for (const [group, bytes] of hasProcFs ? readProcFs(groups) : readPs()) {
    const { bytes: others = 0, processes = 0 } = usage.get(group) ?? {};
    if (groups.has(group)) usage.set(group, { bytes: others + bytes, processes: processes + 1 });
  }
  return usage;
}

/** Memory of one process, in bytes; 0 if only `ps` can report it. */
export function memoryOf(pid: number): number {
  const kilobytes = hasProcFs ? /^VmRSS:\s+(\d+)/m.exec(readProc(pid, 'status'))?.[1] : undefined;
  return Number(kilobytes ?? 0) * 1024;
}

/** Makes the kernel's OOM killer choose this process before the worker, on Linux. */
export function preferForOomKill(pid: number): void {
  try {
    if (hasProcFs) writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // It has ended, or the system does not allow it; this is only a preference.
  }
}

/**
 * The command that starts a program so that all its descendants can be found by its home, on Linux. It marks
 * them with a soft limit that the kernel ignores: unlike the environment, the group or the parent, a process
 * that becomes a daemon keeps it.
 */
export function markedCommand(home: string, words: readonly string[]): readonly string[] {
  return hasProcFs
    ? ['/bin/sh', '-c', 'ulimit -S -m "$0" 2>/dev/null; exec "$@"', `${markOf(home)}`, ...words]
    : words;
}

/**
 * Processes of programs with one of these homes, by HOME in their environment or by their mark;
 * on Linux only.
 */
export function processesAtHome(homes: ReadonlySet<string>): readonly number[] {
  if (!hasProcFs) return [];
  const marks = new Set([...homes].map((home) => `${markOf(home) * 1024}`));
  const homeOf = (pid: number): string => /(?:^|\0)HOME=([^\0]*)/.exec(readProc(pid, 'environ'))?.[1] ?? '';
  const limitOf = (pid: number): string =>
    /^Max resident set +(\d+)/m.exec(readProc(pid, 'limits'))?.[1] ?? '';
  // A zombie keeps its limits until its parent reaps it.
  const isZombie = (pid: number): boolean => /^State:\s+[ZX]/m.test(readProc(pid, 'status'));
  return allPids().filter((pid) => homes.has(homeOf(pid)) || (marks.has(limitOf(pid)) && !isZombie(pid)));
}

/** A limit in KiB, unique for each home and larger than any memory. */
function markOf(home: string): number {
  return 2 ** 40 + createHash('sha256').update(home).digest().readUIntBE(0, 5);
}

/** Group and memory of one process. */
type ProcessUsage = readonly [group: number, bytes: number];

function readProcFs(groups: ReadonlySet<number>): readonly ProcessUsage[] {
  return allPids().map((pid): ProcessUsage => {
    const group = Number(readStat(pid)[2]);
    return [group, groups.has(group) ? memoryOf(pid) : 0];
  });
}

function readPs(): readonly ProcessUsage[] {
  const text = execFileSync('ps', ['-axo', 'pgid=,rss='], { encoding: 'utf8', env: childEnvironment() });
  return text.split('\n').map((line): ProcessUsage => {
    const [group = 0, kilobytes = 0] = line.trim().split(/\s+/).map(Number);
    return [group, kilobytes * 1024];
  });
}
