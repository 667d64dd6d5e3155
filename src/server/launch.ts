import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment } from '../config/child-environment.js';

export interface Launched {
  readonly pid: number;
  /** Settles when the process ends, with how it ended. Never rejects. */
  readonly ended: Promise<string>;
  /** Asks the process to end, kills it after 10 s, and waits until it is gone. */
  end(): Promise<void>;
}

export interface LaunchOptions {
  readonly logFile: string;
  /** Variables besides PATH, HOME and LANG. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Receives the messages of a Node.js program: what it passes to `process.send`. */
  readonly onMessage?: (message: unknown) => void;
}

const endPatienceMs = 10_000;
const logLimitBytes = 16 * 1024 * 1024;

/**
 * Starts a long-lived program in a session of its own, so that Ctrl-C does not reach it; its output goes to a
 * file. On Linux the kernel ends it when this process dies.
 */
export async function launch(
  binary: string,
  args: readonly string[],
  { logFile, environment = {}, onMessage }: LaunchOptions,
): Promise<Launched> {
  await mkdir(dirname(logFile), { recursive: true, mode: 0o700 });
  await shelveLongLog(logFile);
  const log = openSync(logFile, 'a', 0o600);
  const [program, ...words] = [...deathLink(), binary, ...args];
  const child = spawn(program ?? binary, words, {
    detached: true,
    stdio: ['ignore', log, log, ...(onMessage === undefined ? [] : ['ipc' as const])],
    env: childEnvironment({ set: environment }),
  });
  closeSync(log);
  if (onMessage !== undefined) child.on('message', onMessage).channel?.unref();

  const ended = endOf(child);
  const endWithUs = (): boolean => child.kill('SIGTERM');
  process.once('exit', endWithUs);
  void ended.then(() => process.off('exit', endWithUs));
  if (child.pid === undefined) throw new Error(`${binary} cannot be started: ${await ended}`);
  return { pid: child.pid, ended, end: () => end(child, ended) };
}

/** The last lines of a log, for an error message. */
export async function readLogTail(logFile: string, lines = 8): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (cause) => resolve(cause.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
}

async function end(child: ChildProcess, ended: Promise<string>): Promise<void> {
  child.kill('SIGTERM');
  const patience = new AbortController();
  const inTime = await Promise.race([
    ended.then(() => true),
    sleep(endPatienceMs, false, { signal: patience.signal }).catch(() => true),
  ]);
  patience.abort();
  if (!inTime) child.kill('SIGKILL');
  await ended;
}

let deathLinkWords: readonly string[] | undefined;

/**
 * On Linux, setpriv requests a signal at the parent's death; elsewhere the next start ends leftover servers.
 */
function deathLink(): readonly string[] {
  deathLinkWords ??= findDeathLink();
  return deathLinkWords;
}

function findDeathLink(): readonly string[] {
  const words = ['setpriv', '--pdeathsig', 'TERM', '--'];
  const works =
    process.platform === 'linux' &&
    spawnSync('setpriv', [...words.slice(1), 'true'], { env: childEnvironment() }).status === 0;
  return works ? words : [];
}

async function shelveLongLog(logFile: string): Promise<void> {
  const size = await stat(logFile).then(
    (info) => info.size,
    () => 0,
  );
  if (size > logLimitBytes) await rename(logFile, `${logFile}.old`);
}
