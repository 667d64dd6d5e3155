import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { childEnvironment } from '../../config/child-environment.js';
import { PluginError } from '../../plugins/errors.js';
import type { ProcessMark, Processes } from './parts.js';

export interface CommandRun {
  /** Of this build only. */
  readonly folder: string;
  readonly words: readonly string[];
  /** What the command gets beside PATH, HOME and `HEDDLE_OUTPUT`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly processes: Processes;
  readonly timeoutMs: number;
  /** Cancelled: the command is ended. */
  readonly signal: AbortSignal;
  /** This attempt lets go; the command runs on, and the next attempt attaches to it. */
  readonly detach: AbortSignal;
}

export interface CommandEnd {
  readonly exitCode: number;
  /** What comes before the dot of each file that it made. */
  readonly output: string;
  readonly logFile: string;
}

interface Started {
  readonly host: string;
  readonly directory: string;
  readonly mark: ProcessMark;
  readonly startedAt: number;
}

const everyMs = 200;
/** Tenths of a second in which its start must have been noted. */
const goTries = 300;

/**
 * Runs a command as a process that outlives this one. A repeated call attaches to the running process or
 * returns its outcome; only a command that died with its machine starts again, in a new folder.
 */
export async function runCommand(run: CommandRun): Promise<CommandEnd> {
  await mkdir(run.folder, { recursive: true, mode: 0o700 });
  const known = await readStarted(run);
  const started = known !== undefined && (await isOurs(known, run)) ? known : await start(run);
  // Only now that it is known for ever may it begin.
  await writeFile(join(started.directory, 'go'), '');
  const end = { output: join(started.directory, 'image'), logFile: join(started.directory, 'log') };
  for (;;) {
    const exitCode = await readExit(started.directory);
    if (exitCode !== undefined) return { exitCode, ...end };
    if (run.signal.aborted) {
      await kill(started, run.processes);
      throw run.signal.reason;
    }
    if (run.detach.aborted) throw run.detach.reason;
    if (Date.now() - started.startedAt > run.timeoutMs) {
      await kill(started, run.processes);
      throw new PluginError('ScriptFailed', `the command did not end within ${run.timeoutMs} ms`, {
        stdout: await tailOf(end.logFile),
      });
    }
    if (!(await run.processes.isRunning(started.mark)) && (await readExit(started.directory)) === undefined) {
      throw new PluginError('Retryable', 'the command was killed before it ended; it is begun anew');
    }
    await pause(everyMs);
  }
}

/** The end of what it printed. */
export async function tailOf(logFile: string): Promise<string> {
  const bytes = 4_096;
  try {
    const file = await open(logFile, 'r');
    try {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read({
        buffer: Buffer.alloc(bytes),
        position: Math.max(0, size - bytes),
      });
      return buffer.subarray(0, bytesRead).toString('utf8');
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}

async function readStarted({ folder }: CommandRun): Promise<Started | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, 'run.json'), 'utf8')) as Started;
  } catch {
    return undefined;
  }
}

/**
 * Its end is known, or it runs here. On another machine with the same folder that is unknown, so the command
 * starts again there.
 */
async function isOurs(started: Started, { processes }: CommandRun): Promise<boolean> {
  if ((await readExit(started.directory)) !== undefined) return true;
  return started.host === hostname() && (await processes.isRunning(started.mark));
}

async function start({ folder, words, environment, processes }: CommandRun): Promise<Started> {
  for (const left of await readdir(folder)) await rm(join(folder, left), { recursive: true, force: true });
  const directory = join(folder, randomUUID());
  await mkdir(directory, { mode: 0o700 });
  const log = openSync(join(directory, 'log'), 'a', 0o600);
  // A run without a recorded start ends without having begun. The exit code appears whole, and only when the
  // command has ended.
  const wrapper = `cd "$0" || exit 1; tries=0; until [ -e go ]; do tries=$((tries + 1)); [ "$tries" -gt ${goTries} ] && exit 1; sleep 0.1; done; "$@"; echo "$?" >exit.part; mv exit.part exit`;
  const child = spawn('/bin/sh', ['-c', wrapper, directory, ...words], {
    detached: true,
    stdio: ['ignore', log, log],
    env: childEnvironment({ set: { ...environment, HEDDLE_OUTPUT: join(directory, 'image') } }),
  });
  closeSync(log);
  child.on('error', () => undefined).unref();
  const mark = child.pid === undefined ? undefined : await processes.record(child.pid);
  // It may be over already.
  const started = {
    host: hostname(),
    directory,
    mark: mark ?? { pid: child.pid ?? 0, started: 'ended' },
    startedAt: Date.now(),
  };
  const file = join(folder, 'run.json');
  await writeFile(`${file}.part`, JSON.stringify(started), { mode: 0o600 });
  await rename(`${file}.part`, file);
  return started;
}

async function readExit(directory: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(directory, 'exit'), 'utf8'), 10);
  } catch {
    return undefined;
  }
}

/** With all that it started: it leads a group of its own. */
async function kill({ mark }: Started, processes: Processes): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!(await processes.isRunning(mark))) return;
    try {
      process.kill(-mark.pid, signal);
    } catch {
      return;
    }
    for (const until = Date.now() + 5_000; Date.now() < until && (await processes.isRunning(mark));)
      await pause(50);
  }
}
