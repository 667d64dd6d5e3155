import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { readAfterNoise } from './after-noise.js';
import { notBegun } from './not-begun.js';
import type { Connection } from './connection.js';
import { connectionLost } from './failure.js';
import { quoteWords } from './quote.js';
import { programTextBeforeInput, remoteCommand } from './remote-command.js';
import { attachedProgram } from './remote/attached.js';
import { discard, exitOf } from './session.js';

export interface AttachedRun {
  /** Below the home of the login user; deleted when the command has ended. */
  readonly folder: string;
  /** Shell text. */
  readonly command: string;
  readonly variables?: Readonly<Record<string, string>>;
  /** The command's output is read no faster than these settle. */
  readonly onStdout: (chunk: Buffer) => Promise<void> | void;
  readonly onStderr: (chunk: Buffer) => Promise<void> | void;
  /** As root; the folder is then below the home of root. */
  readonly sudo?: boolean | undefined;
  /** Ends the command with all that it started. */
  readonly signal: AbortSignal;
}

/** Longest wait for a command to end after it was asked to, in ms; more than the remote program takes. */
const endMs = 10_000;

/**
 * Runs a command that lives no longer than this connection: when it is cut, or this process is killed, the
 * node ends the command. Returns its exit code.
 * @throws PluginError Retryable when the connection was lost, Invalid when the login shell runs no commands;
 * the signal's reason when that ended the command.
 */
export async function runAttached(connection: Connection, run: AttachedRun): Promise<number> {
  const { folder, command, variables = {}, onStdout, onStderr, sudo, signal } = run;
  signal.throwIfAborted();
  const nonce = randomBytes(16).toString('hex');
  const channel = await connection.exec(remoteCommand(connection.target, { sudo, input: 'programAndInput' }));
  channel.on('error', () => {
    /* A broken channel shows as a missing exit code. */
  });
  const end = (): void => void channel.end();
  const exit = exitOf(channel);
  try {
    const outputs = Promise.all([
      readAfterNoise(channel, nonce, { onChunk: onStdout }),
      readAfterNoise(channel.stderr, nonce, { onChunk: onStderr }),
    ]);
    channel.write(
      programTextBeforeInput({
        program: attachedProgram,
        nonce,
        variables: { folder, command },
        prelude: Object.entries(variables)
          .map(([name, value]) => `export ${name}=${quoteWords([value])}\n`)
          .join(''),
      }),
    );
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    // Standard input stays open as long as the command may run.
    const exitCode = await Promise.race([exit, endedLate(signal)]);
    signal.throwIfAborted();
    if (exitCode === undefined) throw connectionLost(connection.target);
    const [{ begun, noise }, complaints] = await outputs;
    if (begun) return exitCode;
    throw notBegun(connection, { sudo, exitCode, said: `${noise} ${complaints.noise}` });
  } finally {
    signal.removeEventListener('abort', end);
    discard(channel);
  }
}

/** Resolves some time after the signal. */
function endedLate(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const later = (): void => void pause(endMs, undefined, { ref: false }).then(resolve);
    if (signal.aborted) later();
    else signal.addEventListener('abort', later, { once: true });
  });
}
