import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { childEnvironment } from '../../config/child-environment.js';
import { signalQuietly } from '../../config/process-table.js';
import { preferForOomKill, processesAtHome, usageOf } from './processes.js';

/** Interval of memory checks while programs run, in ms. */
const checkEveryMs = 250;

/**
 * Programs that end within this time, in ms, are cleaned up together, because listing all processes is
 * expensive.
 */
const gatherMs = 300;

/** Most processes of one program. */
const maxProcesses = 256;

export interface Guarded {
  readonly pid: number;
  readonly home: string;
  readonly memoryBytes: number;
  /** Called once when the program's processes exceed a limit. */
  readonly onExceeded: (fault: string) => void;
}

/** A program that has ended. */
export interface Left {
  readonly pid: number;
  readonly home: string;
  readonly plugin: string;
}

/** Homes of one worker's programs, their limits and their clean-up. Created on first use. */
export class Sandbox {
  readonly #guarded = new Map<number, Guarded>();
  #open: { readonly folder: string; readonly watchdog: Watchdog } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** By their homes. */
  readonly #ended = new Map<string, Left>();
  #cleaning: Promise<void> | undefined;
  readonly #closing = new AbortController();
  readonly #say: (text: string) => void;

  constructor(say: (text: string) => void = () => undefined) {
    this.#say = say;
  }

  /** Creates an empty folder as a program's HOME, which identifies every process that the program starts. */
  makeHome(): string {
    if (this.#open === undefined) {
      const folder = mkdtempSync(join(tmpdir(), 'heddle-programs-'));
      this.#open = { folder, watchdog: new Watchdog(folder) };
    }
    const home = join(this.#open.folder, randomUUID());
    mkdirSync(home, { mode: 0o700 });
    return home;
  }

  /** Enforces the limits of a program until `leave`. */
  guard(program: Guarded): void {
    this.#open?.watchdog.add(program.pid);
    preferForOomKill(program.pid);
    this.#guarded.set(program.pid, program);
    this.#timer ??= setInterval(() => this.#check(), checkEveryMs).unref();
  }

  /** Cleans up after a program: kills its remaining processes and removes its home. */
  leave(left: Left): void {
    const { pid, home } = left;
    this.#open?.watchdog.remove(pid);
    this.#guarded.delete(pid);
    if (this.#guarded.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#ended.set(home, left);
    this.#cleaning ??= this.#clean().finally(() => {
      this.#cleaning = undefined;
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#cleaning;
    await this.#open?.watchdog.close();
  }

  async #clean(): Promise<void> {
    while (this.#ended.size > 0) {
      await pause(gatherMs, undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined);
      const ended = [...this.#ended.values()];
      this.#ended.clear();
      const homes = ended.map(({ home }) => home);
      const killed = await killAtHome(new Set(homes));
      if (killed > 0) this.#say(leftText(ended, killed));
      await Promise.allSettled(
        homes.map((home) => rm(home, { recursive: true, force: true, maxRetries: 3 })),
      );
    }
  }

  #check(): void {
    for (const [pid, { bytes, processes }] of usageOf(new Set(this.#guarded.keys()))) {
      const { memoryBytes = 0, onExceeded } = this.#guarded.get(pid) ?? {};
      const fault =
        processes > maxProcesses
          ? `it had ${processes} concurrent processes; the limit is ${maxProcesses}`
          : bytes > memoryBytes
            ? `it used ${megabytes(bytes)} MB of memory; the limit is ${megabytes(memoryBytes)} MB`
            : undefined;
      if (fault === undefined) continue;
      this.#guarded.delete(pid);
      onExceeded?.(fault);
    }
  }
}

/**
 * Kills processes that left their program's group, repeatedly, because they may start others meanwhile.
 * @returns how many there were.
 */
async function killAtHome(homes: ReadonlySet<string>): Promise<number> {
  const killed = new Set<number>();
  for (let round = 0; round < 20; round += 1) {
    const pids = processesAtHome(homes);
    if (pids.length === 0) break;
    for (const pid of pids) {
      killed.add(pid);
      signalQuietly(pid, 'SIGKILL');
    }
    await pause(round < 3 ? 5 : 50);
  }
  return killed.size;
}

function leftText(ended: readonly Left[], killed: number): string {
  const names = [...new Set(ended.map(({ plugin }) => plugin))].join(' or ');
  return `plugin ${names} left ${killed} ${killed === 1 ? 'process' : 'processes'} behind, which ${killed === 1 ? 'was' : 'were'} ended`;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}

/**
 * A process that outlives this one. When this one ends, even by SIGKILL, it kills the groups of running
 * programs and removes their folder. Otherwise a program in a busy loop would run forever.
 */
class Watchdog {
  readonly #child: ChildProcess;

  constructor(folder: string) {
    this.#child = spawn('/bin/sh', ['-c', watchdogScript, 'heddle-plugin-watchdog', folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: childEnvironment({ set: { PATH: '/usr/bin:/bin' } }),
      cwd: '/',
    });
    this.#child.on('error', () => undefined);
    this.#child.stdin?.on('error', () => undefined);
    this.#child.unref();
    if (this.#child.stdin instanceof Socket) this.#child.stdin.unref();
  }

  add(group: number): void {
    this.#child.stdin?.write(`add ${group}\n`);
  }

  remove(group: number): void {
    this.#child.stdin?.write(`remove ${group}\n`);
  }

  /** Makes it kill running programs; resolves when that is done. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.pid === undefined) return;
    const exited = once(this.#child, 'exit');
    this.#child.ref();
    this.#child.stdin?.end();
    await exited;
  }
}

const watchdogScript = `
trap '' TERM INT HUP
groups=' '
while read -r word group; do
  case $word in
    add) groups="$groups$group " ;;
    remove) case $groups in *" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;; esac ;;
  esac
done
for group in $groups; do kill -9 "-$group" 2>/dev/null; done
rm -rf -- "$1"
`;
