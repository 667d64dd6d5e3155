import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { childEnvironment } from '../../config/child-environment.js';

const hasProcFs = process.platform === 'linux';

/** What the processes of one group use together. */
export interface GroupUsage {
  readonly bytes: number;
  readonly processes: number;
}

/** Memory and number of the processes of each group; groups without processes are left out. */
export function usageOf(groups: ReadonlySet<number>): ReadonlyMap<number, GroupUsage> {
  const usage = new Map<number, GroupUsage>();
  for (const { group, bytes } of hasProcFs ? fromProcFs(groups) : fromPs(groups)) {
    const before = usage.get(group) ?? { bytes: 0, processes: 0 };
    usage.set(group, { bytes: before.bytes + bytes, processes: before.processes + 1 });
  }
  return usage;
}

/** Memory of one process, in bytes; 0 where it cannot be read cheaply. */
export function memoryOf(pid: number): number {
  const kilobytes = hasProcFs ? /^VmRSS:\s+(\d+)/m.exec(readQuietly(`/proc/${pid}/status`))?.[1] : undefined;
  return Number(kilobytes ?? 0) * 1024;
}

/** Signals every process of a group; a group that is gone is no error. */
export function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // Gone already, which is what was wanted.
  }
}

/**
 * Short of memory, the kernel is to end a plugin before the worker. Elsewhere than on Linux there is no such
 * choice.
 */
export function offerToOutOfMemoryKiller(pid: number): void {
  if (!hasProcFs) return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // It ended already, or the system does not let us: a preference, not a need.
  }
}

/**
 * Kills what programs started and put into groups of their own: all of it has the program's home in its
 * environment. New ones may appear between two looks, hence the rounds.
 */
export async function killAllWithHomes(homes: ReadonlySet<string>): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    const pids = hasProcFs ? allPids().filter((pid) => homes.has(homeOf(pid))) : [];
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone already.
      }
    }
    await pause(round < 3 ? 5 : 50);
  }
}

function homeOf(pid: number): string {
  return /(?:^|\0)HOME=([^\0]*)/.exec(readQuietly(`/proc/${pid}/environ`))?.[1] ?? '';
}

interface ProcessUsage {
  readonly group: number;
  readonly bytes: number;
}

function fromProcFs(groups: ReadonlySet<number>): readonly ProcessUsage[] {
  return allPids().flatMap((pid) => {
    const stat = readQuietly(`/proc/${pid}/stat`);
    // The name, second in the line, may hold blanks and brackets: what follows its last bracket is state,
    // parent, group.
    const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3)[2]);
    if (!groups.has(group)) return [];
    return [{ group, bytes: memoryOf(pid) }];
  });
}

function fromPs(groups: ReadonlySet<number>): readonly ProcessUsage[] {
  const lines = execFileSync('ps', ['-axo', 'pgid=,rss='], {
    encoding: 'utf8',
    env: childEnvironment(),
  }).split('\n');
  return lines.flatMap((line) => {
    const [group = 0, kilobytes = 0] = line.trim().split(/\s+/).map(Number);
    return groups.has(group) ? [{ group, bytes: kilobytes * 1024 }] : [];
  });
}

function allPids(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
