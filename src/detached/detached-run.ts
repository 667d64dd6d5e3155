import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, rm, stat, writeFile, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { childEnvironment } from '../config/child-environment.js';
import { PluginError } from '../plugins/errors.js';
import { endGroup, isRunning, markOf } from './process-mark.js';
import {
  endRun,
  nextNumber,
  readExit,
  readNewestRun,
  recordRun,
  runsHere,
  type StartedRun,
} from './run-record.js';

interface DetachedProgram {
  readonly words: readonly string[];
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface DetachedRun {
  /** Belongs to one subject, such as a machine: it has one run at a time. */
  readonly folder: string;
  /** The work, and its token: a repeated call with both gets the same run. */
  readonly what: string;
  readonly token: string;
  /** The program, given the run's own directory. */
  readonly program: (directory: string) => DetachedProgram;
  /** Whether a repeated call returns this exit code; otherwise it starts the program again. */
  readonly isAnswer: (code: number) => boolean;
  readonly progress?: (text: string) => void;
  /** A file that the program writes: its size counts as progress. */
  readonly grows?: (directory: string) => string;
  /**
   * What this process does when the program has written a file of its directory, in each
   * attempt, until it is true.
   */
  readonly ready?: readonly {
    readonly file: string;
    readonly act: (directory: string) => Promise<boolean>;
  }[];
  /** Limit from the start of the program, in ms. */
  readonly timeoutMs?: number;
  /** Aborted: the program is ended, unless `detach` is aborted too. */
  readonly signal: AbortSignal;
  /** Aborted when only this attempt ends: the program keeps running. */
  readonly detach: AbortSignal | undefined;
}

export interface RunEnd {
  readonly code: number;
  readonly directory: string;
  readonly logFile: string;
  /** The last line that the program printed. */
  readonly lastLine: string;
}

const pollMs = 100;
const growthMs = 5_000;
/** Tenths of a second within which a run must be recorded. */
const goTries = 300;

/**
 * Runs a program that outlives this process, in a session of its own. A repeated call with the same token
 * attaches to the running program or returns its answer. Another run of the same folder is ended first. The
 * program starts again only when no process of its earlier run is left.
 * @throws PluginError Retryable if the program was killed, or an earlier run may still run.
 */
export async function runDetached(run: DetachedRun): Promise<RunEnd> {
  const key = createHash('sha256').update(`${run.what}\n${run.token}`).digest('hex');
  await mkdir(run.folder, { recursive: true, mode: 0o700 });
  const known = await readNewestRun(run.folder);
  if (known !== undefined && (await canAttach(run, known, key))) return follow(run, known);
  if (known !== undefined) await endRun(known);
  return follow(run, await start(run, key));
}

/**
 * Ends the run of a folder, if there is one; returns its directory when no process of it is left.
 * @throws PluginError Retryable if it does not end, or runs on another host.
 */
export async function endDetached(folder: string): Promise<string | undefined> {
  const known = await readNewestRun(folder);
  if (known !== undefined) await endRun(known);
  return known?.directory;
}

async function canAttach({ isAnswer }: DetachedRun, known: StartedRun, key: string): Promise<boolean> {
  if (known.key !== key) return false;
  const code = await readExit(known);
  return code === undefined ? runsHere(known) : isAnswer(code);
}

async function follow(run: DetachedRun, started: StartedRun): Promise<RunEnd> {
  const { signal, detach, progress, timeoutMs = Infinity } = run;
  const { directory, mark, what, startedAt } = started;
  // The program begins only after its run is recorded.
  await writeFile(join(directory, 'go'), '').catch((error: unknown) => {
    throw new PluginError('Retryable', `the directory of ${what} was removed`, { cause: error });
  });
  const logFile = join(directory, 'log');
  const log = new LogReader(logFile);
  const reportGrowth = growthOf(run, directory);
  const actWhenReady = readyOf(run, directory);
  for (;;) {
    const isAlive = await isRunning(mark);
    const code = await readExit(started);
    for (const line of await log.lines()) progress?.(line);
    if (code !== undefined) {
      // What the program left behind could go on writing.
      await endRun(started);
      return { code, directory, logFile, lastLine: log.last };
    }
    if (detach?.aborted === true) throw detach.reason;
    if (signal.aborted) {
      await endGroup(mark);
      throw signal.reason;
    }
    if (!isAlive)
      throw new PluginError('Retryable', `${what} was killed before it ended; it is started again`);
    if (Date.now() - startedAt > timeoutMs) {
      await endGroup(mark);
      throw new PluginError('ScriptFailed', `${what} did not end within ${timeoutMs} ms`);
    }
    await actWhenReady();
    await reportGrowth();
    await pause(pollMs);
  }
}

function growthOf({ grows, progress }: DetachedRun, directory: string): () => Promise<void> {
  let reportedAt = Date.now();
  return async () => {
    if (grows === undefined || Date.now() - reportedAt < growthMs) return;
    reportedAt = Date.now();
    await stat(grows(directory)).then(
      ({ size }) => progress?.(`${size} bytes are written`),
      () => undefined,
    );
  };
}

function readyOf({ ready = [] }: DetachedRun, directory: string): () => Promise<void> {
  let left = ready;
  return async () => {
    for (const one of left)
      if (existsSync(join(directory, one.file)) && (await one.act(directory)))
        left = left.filter((other) => other !== one);
  };
}

async function start({ folder, what, program }: DetachedRun, key: string): Promise<StartedRun> {
  const number = await nextNumber(folder);
  const directory = join(folder, `${number}-${randomUUID()}`);
  await mkdir(directory, { mode: 0o700 });
  const mark = await spawnDetached(directory, program(directory));
  if (mark === undefined) throw new PluginError('Retryable', `${what} could not be started on this worker`);
  const started = { number, key, what, host: hostname(), directory, mark, startedAt: Date.now() };
  if (await recordRun(folder, started)) return started;
  await endGroup(mark);
  await rm(directory, { recursive: true, force: true });
  throw new PluginError('Retryable', `another worker has just started ${what}`);
}

async function spawnDetached(
  directory: string,
  { words, environment }: DetachedProgram,
): ReturnType<typeof markOf> {
  const log = openSync(join(directory, 'log'), 'a', 0o600);
  // Without a recorded run the program never begins. The exit code appears whole, when the program has ended.
  const wrapper = `cd "$0" || exit 1; tries=0; until [ -e go ]; do tries=$((tries + 1)); [ "$tries" -gt ${goTries} ] && exit 1; sleep 0.1; done; "$@"; echo "$?" >exit.part; mv exit.part exit`;
  const child = spawn('/bin/sh', ['-c', wrapper, directory, ...words], {
    detached: true,
    stdio: ['ignore', log, log],
    env: childEnvironment({ set: environment }),
  });
  closeSync(log);
  child.on('error', () => undefined).unref();
  return markOf(child.pid ?? 0);
}

const chunkBytes = 65_536;

/** Reads the lines of a file that grows. */
class LogReader {
  /** The last line that is not blank, also if it is incomplete. */
  last = '';
  readonly #file: string;
  #read = 0;
  #rest = '';

  constructor(file: string) {
    this.#file = file;
  }

  /** The next complete lines, without blank ones. */
  async lines(): Promise<readonly string[]> {
    const handle = await open(this.#file, 'r').catch(() => undefined);
    if (handle === undefined) return [];
    try {
      const { buffer, bytesRead } = await handle.read({
        buffer: Buffer.alloc(chunkBytes),
        position: this.#read,
      });
      this.#read += bytesRead;
      const parts = (this.#rest + buffer.subarray(0, bytesRead).toString('utf8')).split('\n');
      this.#rest = (parts.pop() ?? '').slice(-2_000);
      const lines = parts.map((line) => line.trim()).filter((line) => line !== '');
      this.last = (this.#rest.trim() || lines.at(-1) || this.last).slice(-300);
      return lines;
    } finally {
      await handle.close();
    }
  }
}
