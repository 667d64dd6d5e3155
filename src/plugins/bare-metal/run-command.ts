import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { childEnvironment } from '../../config/child-environment.js';

export interface CommandResult {
  /** Null where it could not be started, or was ended. */
  readonly code: number | null;
  readonly stdout: string;
  /** Its last words; why it could not be started, where it could not. */
  readonly stderr: string;
}

export interface CommandOptions {
  readonly signal: AbortSignal;
  readonly environment?: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
}

const kept = 16_384;

/** Runs a program of the worker's system, without a shell; no variable of the worker but PATH reaches it. */
export async function runCommand(
  [program = '', ...words]: readonly string[],
  { signal, environment = {}, onLine }: CommandOptions,
): Promise<CommandResult> {
  signal.throwIfAborted();
  return new Promise((resolve) => {
    const child = spawn(program, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: childEnvironment({ set: { PATH: searchPath, LC_ALL: 'C', ...environment } }),
      signal,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout = (stdout + chunk).slice(-kept);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr = (stderr + chunk).slice(-kept);
    });
    if (onLine !== undefined) createInterface({ input: child.stdout }).on('line', onLine);
    child.once('error', (error) => resolve({ code: null, stdout, stderr: error.message }));
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin';
