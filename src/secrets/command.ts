import { spawn } from 'node:child_process';
import { secretCommandEnvironment } from '../config/child-environment.js';
import { signalQuietly } from '../config/process-table.js';

interface CommandEnvironment {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** For a user's command: the environment variables that heddle.yaml grants it. */
  readonly granted?: readonly string[] | undefined;
}

/** Limits of reading one secret. */
export interface ReadLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const outputLimit = 64 * 1024;

/**
 * Runs a program without a shell and returns its standard output. Errors contain neither output nor
 * arguments, which may be secret. The timeout kills the process group, because child processes may keep the
 * output open.
 */
export function runForOutput(
  [program = '', ...args]: readonly string[],
  { environment, granted, timeoutMs, signal }: CommandEnvironment & ReadLimits,
): Promise<string> {
  const grouped = process.platform !== 'win32';
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: secretCommandEnvironment(environment, granted),
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: grouped,
    });
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      act();
    };
    const stop = (reason: string): void => {
      if (grouped && child.pid !== undefined) signalQuietly(-child.pid, 'SIGKILL');
      else child.kill('SIGKILL');
      settle(() => reject(new Error(`${program} ${reason}`)));
    };
    const abort = (): void => stop('was cancelled');
    const timer = setTimeout(() => stop(`did not end within ${timeoutMs} ms`), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > outputLimit) stop(`wrote more than ${outputLimit} bytes`);
      else chunks.push(chunk);
    });
    child.once('error', (error) =>
      settle(() => reject(new Error(`${program} cannot be started: ${error.message}`, { cause: error }))),
    );
    child.once('close', (code, by) =>
      settle(() => {
        if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'));
        else
          reject(
            new Error(
              `${program} ended with ${code === null ? `signal ${by}` : `exit code ${code}`}; run it by hand to see why`,
            ),
          );
      }),
    );
  });
}
