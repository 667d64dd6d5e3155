import { execFileSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment } from '../config/child-environment.js';
import { allPids, hasProcFs, readProc, readStat, signalQuietly } from '../config/process-table.js';

/** Every process of a machine carries this variable: `<folder tag>.<run tag>/<machine id>`. */
export const markerVariable = 'HEDDLE_MACHINE';

/** Descendants of a process with their depth (a child has 1). Empty without /proc. */
export function descendantsOf(pid: number): readonly { readonly pid: number; readonly depth: number }[] {
  if (!hasProcFs) return [];
  const children = new Map<number, number[]>();
  for (const candidate of allPids()) {
    const parent = Number(readStat(candidate)[1]);
    children.set(parent, [...(children.get(parent) ?? []), candidate]);
  }
  const found: { pid: number; depth: number }[] = [];
  const visit = (parent: number, depth: number): void => {
    for (const child of children.get(parent) ?? []) {
      found.push({ pid: child, depth });
      visit(child, depth + 1);
    }
  };
  visit(pid, 1);
  return found;
}

/**
 * Kills every process with this marker or working folder, repeatedly because children may appear meanwhile.
 * Returns how many it killed.
 */
export async function killMarked(markerStart: string, folder?: string): Promise<number> {
  const killed = new Set<number>();
  for (let round = 0; round < 20; round += 1) {
    const pids = markedPids(markerStart, folder);
    if (pids.length === 0) break;
    for (const pid of pids) {
      killed.add(pid);
      signalQuietly(pid, 'SIGKILL');
    }
    await sleep(round < 3 ? 5 : 50);
  }
  return killed.size;
}

/** Pids of running processes with this marker, or with a working folder inside the folder. */
function markedPids(markerStart: string, folder?: string): readonly number[] {
  if (!hasProcFs) return markedByPs(markerStart);
  const marker = `${markerVariable}=${markerStart}`;
  return allPids().filter((pid) => {
    if (pid === process.pid) return false;
    const environment = readProc(pid, 'environ');
    if (environment.startsWith(marker) || environment.includes(`\0${marker}`)) return true;
    if (folder === undefined) return false;
    // Daemons that write a title over their environment are known by the folder they work in. An environment
    // that is whole and has no marker belongs to someone else, such as a person's shell in
    // there.
    if (environment.includes('PATH=')) return false;
    const cwd = tryOr(() => readlinkSync(`/proc/${pid}/cwd`), '');
    return cwd === folder || cwd.startsWith(`${folder}/`);
  });
}

/** Without /proc: BSD's ps shows the environment of the user's own processes after the command. */
function markedByPs(markerStart: string): readonly number[] {
  const lines = tryOr(
    () =>
      execFileSync('ps', ['-axwwE', '-o', 'pid=,command='], {
        encoding: 'utf8',
        maxBuffer: 64 * 1024 * 1024,
        env: childEnvironment(),
      }),
    '',
  ).split('\n');
  return lines
    .flatMap((line) => (line.includes(`${markerVariable}=${markerStart}`) ? [Number.parseInt(line, 10)] : []))
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid);
}

function tryOr<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
