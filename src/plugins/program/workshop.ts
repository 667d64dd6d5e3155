import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Keeper } from './keeper.js';
import { killAllWithHomes, offerToOutOfMemoryKiller, usageOf } from './processes.js';

/** How often memory is looked at while programs run, in ms. */
const lookEveryMs = 250;

/** How long ends of programs are gathered before all are cleared up after at once, in ms. */
const gatherMs = 300;

/** Most processes of one program: more than any tool needs, and few enough to end. */
const maxProcesses = 256;

export interface Guarded {
  readonly pid: number;
  readonly home: string;
  readonly memoryBytes: number;
  /** Called once with what is wrong when the program's processes use more than they may. */
  readonly over: (wrong: string) => void;
}

/**
 * Where the programs of one worker live: their homes, and the watch over them. Nothing is made before the
 * first program.
 */
export class Workshop {
  readonly #guarded = new Map<number, Guarded>();
  #keeper: Keeper | undefined;
  #folder: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #left = new Set<string>();
  #cleaning: Promise<void> | undefined;
  readonly #closing = new AbortController();

  /** An empty folder for one program, which is its HOME; by it everything that it starts can be found. */
  makeHome(): string {
    const home = join(this.#open().folder, randomUUID());
    mkdirSync(home, { mode: 0o700 });
    return home;
  }

  /** Watches a program from its start to its end. */
  guard(program: Guarded): void {
    this.#open().keeper.add(program.pid);
    offerToOutOfMemoryKiller(program.pid);
    this.#guarded.set(program.pid, program);
    this.#timer ??= setInterval(() => this.#look(), lookEveryMs).unref();
  }

  /** Clears up after a program that has ended: what it left running, and its home. */
  leave(pid: number, home: string): void {
    this.#keeper?.remove(pid);
    this.#guarded.delete(pid);
    if (this.#guarded.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#left.add(home);
    this.#cleaning ??= this.#clean().finally(() => {
      this.#cleaning = undefined;
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#cleaning;
    await this.#keeper?.close();
  }

  /** Looking at every process of the machine has its price, so it is paid once for all that ended lately. */
  async #clean(): Promise<void> {
    while (this.#left.size > 0) {
      await pause(gatherMs, undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined);
      const homes = new Set(this.#left);
      this.#left.clear();
      await killAllWithHomes(homes);
      await Promise.allSettled(
        [...homes].map((home) => rm(home, { recursive: true, force: true, maxRetries: 3 })),
      );
    }
  }

  #open(): { readonly folder: string; readonly keeper: Keeper } {
    this.#folder ??= mkdtempSync(join(tmpdir(), 'heddle-programs-'));
    this.#keeper ??= new Keeper(this.#folder);
    return { folder: this.#folder, keeper: this.#keeper };
  }

  #look(): void {
    for (const [pid, { bytes, processes }] of usageOf(new Set(this.#guarded.keys()))) {
      const program = this.#guarded.get(pid);
      if (program === undefined) continue;
      const wrong =
        processes > maxProcesses
          ? `it had ${processes} processes at once; ${maxProcesses} are allowed`
          : bytes > program.memoryBytes
            ? `it used ${megabytes(bytes)} MB of memory; ${megabytes(program.memoryBytes)} MB are allowed`
            : undefined;
      if (wrong === undefined) continue;
      this.#guarded.delete(pid);
      program.over(wrong);
    }
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
