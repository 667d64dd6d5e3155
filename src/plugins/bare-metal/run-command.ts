import { spawn } from 'node:child_process';
import { childEnvironment } from '../../config/child-environment.js';

/**
 * What the exit codes of the administrator's programs mean; any other code means unknown. `no` is a code that shells,
 * interpreters and clients do not end with by themselves: a crash must not read as "certainly not". So is `noImage`, of
 * programs about images: certainly not, and because of the image.
 */
export const programExits = { yes: 0, no: 10, noImage: 41 } as const;

interface CommandResult {
  /** Null where it could not be started, or was ended. */
  readonly code: number | null;
  readonly stdout: string;
  /** Its last words; why it could not be started, where it could not. */
  readonly stderr: string;
}

interface CommandOptions {
  readonly signal: AbortSignal;
  readonly environment?: Readonly<Record<string, string>>;
}

const kept = 16_384;

/** What programs of the administrator get of the worker's environment. */
export const programEnvironment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin',
  LC_ALL: 'C',
};

/** Runs a program of the worker's system, without a shell; no variable of the worker but PATH reaches it. */
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
