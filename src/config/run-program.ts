import { execFile } from 'node:child_process';
import { childEnvironment, type ChildEnvironmentOptions } from './child-environment.js';

interface ProgramOptions {
  /** Of what Heddle passes on. Default: PATH, HOME and LANG. */
  readonly environment?: ChildEnvironmentOptions;
  /** After this time, in ms, the program is killed. Default: no limit. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Called with each part of the standard output. */
  readonly listen?: (printed: string) => void;
}

export interface ProgramEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** Absent if the program ended with exit code 0. */
  readonly failure?: {
    /** Exit code, or a code of the system such as `ENOENT`; absent if the program was killed. */
    readonly code?: number | string;
    /** The last line that it printed, or why it could not be started. */
    readonly why: string;
    readonly cause: Error;
  };
}

/** Bytes that a program may print. */
const maxBuffer = 16 * 1_048_576;

/** Runs a program without a shell and without input, to its end. Never rejects. */
export async function runProgram(
  program: string,
  words: readonly string[],
  { environment, timeoutMs = 0, signal, listen }: ProgramOptions = {},
): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      words,
      { env: childEnvironment(environment), timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer, signal },
      (cause, stdout, stderr) => {
        if (cause === null) return resolve({ stdout, stderr });
        const printed = `${stdout}\n${stderr}`.trimEnd().split('\n').at(-1)?.trim() ?? '';
        const why = printed === '' ? cause.message : printed;
        resolve({ stdout, stderr, failure: { code: cause.code ?? undefined, why, cause } });
      },
    );
    child.stdin?.end();
    if (listen !== undefined) child.stdout?.on('data', listen);
  });
}

/** The same. @throws Error with the last line that it printed, or why it could not be started. */
export async function requireProgram(
  program: string,
  words: readonly string[],
  options?: ProgramOptions,
): Promise<string> {
  const { stdout, failure } = await runProgram(program, words, options);
  if (failure !== undefined) throw new Error(`${program}: ${failure.why}`, { cause: failure.cause });
  return stdout;
}
