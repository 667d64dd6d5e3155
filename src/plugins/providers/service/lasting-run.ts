import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { link, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { childEnvironment } from '../../../config/child-environment.js';
import { PluginError } from '../../errors.js';
import { endGroup, isRunning, markOf, type ProcessMark } from './process-mark.js';
import { isCode } from './library.js';
import { exits } from './program.js';

export interface LastingRun {
  /** Of one resource: one run at a time. */
  readonly folder: string;
  /** The work and its token: a repeated call with the same token gets the same run. */
  readonly what: string;
  readonly token: string;
  /** What is to be run in a folder of its own. */
  readonly program: (directory: string) => {
    readonly words: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  };
  readonly progress: (text: string) => void;
  /** The file that it writes: how much of it there is counts as progress. */
  readonly grows?: (directory: string) => string;
  /** Aborted: the program is ended, but where this attempt alone lets go. */
  readonly signal: AbortSignal;
  readonly detach: AbortSignal | undefined;
}

export interface RunEnd {
  readonly code: number;
  readonly directory: string;
  /** The last line that it printed. */
  readonly lastLine: string;
}

interface Started {
  readonly number: number;
  readonly key: string;
  readonly what: string;
  readonly host: string;
  readonly directory: string;
  readonly mark: ProcessMark;
}

const everyMs = 100;
const tellMs = 5_000;
/** Tenths of a second within which its start must have been noted. */
const goTries = 300;

/**
 * Runs a program that outlives this process. A repeated call with the same token attaches to the running
 * program or fetches its outcome. A run that died with its machine, or whose outcome is unknown, starts again
 * only when it certainly no longer runs.
 */
export async function runLasting(run: LastingRun): Promise<RunEnd> {
  const key = createHash('sha256').update(`${run.what}\n${run.token}`).digest('hex');
  await mkdir(run.folder, { recursive: true, mode: 0o700 });
  const known = await readNewest(run.folder);
  const started = known !== undefined && (await goesOn(known, key)) ? known : await start(run, key, known);
  return waitForEnd(run, started);
}

/**
 * Whether it is the one that is wanted, and has ended with an answer or still runs. Another one of the same
 * resource is ended.
 */
async function goesOn(known: Started, key: string): Promise<boolean> {
  const code = await readExit(known.directory);
  if (code !== undefined) return known.key === key && (code === exits.yes || code === exits.no);
  if (known.host !== hostname()) {
    throw new PluginError(
      'Retryable',
      `${known.what} was begun on worker host ${known.host}, and whether it still runs there cannot be told from here; when it certainly does not, remove ${known.directory}`,
      { retryAfterMs: 5_000 },
    );
  }
  if (known.key === key && (await isRunning(known.mark))) return true;
  await endGroup(known.mark);
  return false;
}

async function waitForEnd(
  { signal, detach, progress, grows }: LastingRun,
  { directory, mark, what }: Started,
): Promise<RunEnd> {
  // Only now that it is known for ever may it begin.
  await writeFile(join(directory, 'go'), '').catch((error: unknown) => {
    throw new PluginError('Retryable', `${what} was cleared away`, { cause: error });
  });
  const log = new LogReader(join(directory, 'log'));
  let toldAt = Date.now();
  for (;;) {
    const runs = await isRunning(mark);
    const code = await readExit(directory);
    for (const line of await log.lines()) progress(line);
    if (code !== undefined) return { code, directory, lastLine: log.last };
    if (!runs) throw new PluginError('Retryable', `${what} was killed before it ended; it is begun anew`);
    if (signal.aborted) {
      if (detach?.aborted !== true) await endGroup(mark);
      throw signal.reason;
    }
    if (grows !== undefined && Date.now() - toldAt > tellMs) {
      toldAt = Date.now();
      await stat(grows(directory)).then(
        ({ size }) => progress(`${size} bytes are written`),
        () => undefined,
      );
    }
    await pause(everyMs);
  }
}

/**
 * The number is claimed by creating a file exclusively: of two that start, one runs, and the other
 * attends to it.
 */
async function start(
  { folder, what, program }: LastingRun,
  key: string,
  before: Started | undefined,
): Promise<Started> {
  const number = (before?.number ?? 0) + 1;
  const directory = join(folder, `${number}-${randomUUID()}`);
  await mkdir(join(directory, 'image'), { recursive: true, mode: 0o700 });
  const { words, environment } = program(directory);
  const log = openSync(join(directory, 'log'), 'a', 0o600);
  // A run without a recorded start ends without having begun. The exit code appears whole, and only when the
  // program has ended.
  const wrapper = `cd "$0" || exit 1; tries=0; until [ -e go ]; do tries=$((tries + 1)); [ "$tries" -gt ${goTries} ] && exit 1; sleep 0.1; done; "$@"; echo "$?" >exit.part; mv exit.part exit`;
  const child = spawn('/bin/sh', ['-c', wrapper, directory, ...words], {
    detached: true,
    stdio: ['ignore', log, log],
    env: childEnvironment({ set: environment }),
  });
  closeSync(log);
  child.on('error', () => undefined).unref();
  const mark = await markOf(child.pid ?? 0);
  if (mark === undefined) throw new PluginError('Retryable', `${what} could not be started on this worker`);
  const started: Started = { number, key, what, host: hostname(), directory, mark };
  const note = join(directory, 'run.json');
  await writeFile(note, JSON.stringify(started), { mode: 0o600 });
  try {
    await link(note, noteOf(folder, number));
  } catch (error) {
    await endGroup(mark);
    await rm(directory, { recursive: true, force: true });
    if (isCode(error, 'EEXIST')) throw new PluginError('Retryable', `another worker has just begun ${what}`);
    throw error;
  }
  await clearBefore(folder, number);
  return started;
}

function noteOf(folder: string, number: number): string {
  return join(folder, `run-${number}.json`);
}

async function readNewest(folder: string): Promise<Started | undefined> {
  const numbers = (await readdir(folder))
    .flatMap((name) => /^run-(\d+)\.json$/.exec(name)?.[1] ?? [])
    .map(Number);
  if (numbers.length === 0) return undefined;
  const started = JSON.parse(await readFile(noteOf(folder, Math.max(...numbers)), 'utf8')) as Started;
  // A person may have removed it.
  return (await readdir(folder)).some((name) => started.directory.endsWith(`/${name}`))
    ? started
    : { ...started, key: '', host: hostname(), mark: { pid: 0, started: 'removed' } };
}

async function clearBefore(folder: string, number: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const own = Number(/^(?:run-)?(\d+)[.-]/.exec(name)?.[1] ?? Infinity);
    if (own < number) await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function readExit(directory: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(directory, 'exit'), 'utf8'), 10);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Lines of a file that grows. */
class LogReader {
  last = '';
  readonly #file: string;
  #read = 0;
  #rest = '';

  constructor(file: string) {
    this.#file = file;
  }

  async lines(): Promise<readonly string[]> {
    const handle = await open(this.#file, 'r').catch(() => undefined);
    if (handle === undefined) return [];
    try {
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(65_536), position: this.#read });
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
