import { spawn } from 'node:child_process';
import { childEnvironment } from '../../config/child-environment.js';

/**
 * Exit codes of the administrator's programs; any other code means unknown. `no` is a code that shells,
 * interpreters and clients do not use themselves, so that a crash is not read as "certainly not". The same
 * applies to `noImage`, for programs about images: certainly not, because of the image.
 */
export const programExits = { yes: 0, no: 10, noImage: 41 } as const;

interface CommandResult {
  /** Null if it could not be started, or was killed. */
  readonly code: number | null;
  readonly stdout: string;
  /** Its last output, or why it could not be started. */
  readonly stderr: string;
}

interface CommandOptions {
  readonly signal: AbortSignal;
  readonly environment?: Readonly<Record<string, string>>;
}

const kept = 16_384;

/** The worker's environment variables that programs of the administrator receive. */
export const programEnvironment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin',
  LC_ALL: 'C',
};

/** Runs a program on the worker without a shell; of the worker's variables it receives only PATH. */
export async function runCommand(
  [program = '', ...words]: readonly string[],
  { signal, environment = {} }: CommandOptions,
): Promise<CommandResult> {
  signal.throwIfAborted();
  return new Promise((resolve) => {
    const child = spawn(program, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: childEnvironment({ set: { ...programEnvironment, ...environment } }),
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
    child.once('error', (error) => resolve({ code: null, stdout, stderr: error.message }));
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}
