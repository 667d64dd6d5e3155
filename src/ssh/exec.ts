import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { RunOutcome } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import type { Connection } from './connection.js';
import { readAfterNoise } from './after-noise.js';
import { Excerpt } from './excerpt.js';
import { connectionLost } from './failure.js';
import { notBegun } from './not-begun.js';
import { quoteWords } from './quote.js';
import { programTextBeforeInput, remoteCommand } from './remote-command.js';
import { endCommandProgram, execProgram } from './remote/exec.js';
import { discard, exitOf, startProgram } from './session.js';
import { describeTarget } from './target.js';

export interface ExecOptions {
  readonly stdin?: string | Uint8Array;
  /** Timeout, after which the command is ended with its process group. Default: 60 s. */
  readonly timeoutMs?: number;
  /** Ends the command as its time limit does. */
  readonly signal?: AbortSignal | undefined;
  readonly sudo?: boolean;
}

/**
 * Runs a short command that is safe to repeat; its words reach it as they are.
 * @throws PluginError Retryable when its exit code was not learnt (connection lost, deadline passed), Invalid
 * when the login shell runs no commands.
 */
export async function exec(
  connection: Connection,
  command: readonly string[],
  options: ExecOptions = {},
): Promise<RunOutcome> {
  const { stdin = '', timeoutMs = 60_000, signal, sudo } = options;
  signal?.throwIfAborted();
  const nonce = randomBytes(16).toString('hex');
  const channel = await connection.exec(remoteCommand(connection.target, { sudo, input: 'programAndInput' }));
  const where = describeTarget(connection.target);
  let begun: readonly string[] = [];
  let over = false;
  let stop = (_reason: unknown) => {
    /* Replaced at once. */
  };
  // A server may keep a closed channel until the command has ended, so its end is not waited for.
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = reject;
  });
  const abort = () => stop(signal?.reason);
  const timer = setTimeout(
    () => stop(new PluginError('Retryable', `${command[0]} on ${where} took longer than ${timeoutMs} ms`)),
    timeoutMs,
  );
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const exit = exitOf(channel);
    channel.on('error', () => {
      /* A broken channel shows as a missing exit code. */
    });
    const outputs = Promise.all([
      readText(channel, nonce, (words) => {
        begun = words;
      }),
      readText(channel.stderr, nonce),
    ]);
    channel.write(
      programTextBeforeInput({
        program: execProgram,
        nonce,
        prelude: `become() {\nexec ${quoteWords(command)}\n}\n`,
      }),
    );
    channel.end(stdin);
    const [[stdout, stderr], exitCode] = await Promise.race([Promise.all([outputs, exit]), stopped]);
    over = true;
    if (exitCode === undefined) throw connectionLost(connection.target);
    if (!stdout.begun) throw notBegun(connection, { sudo, exitCode, said: stderr.text });
    return { exitCode, stdout: stdout.text, stderr: stderr.text };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    discard(channel);
    if (!over) await endCommand(connection, begun, sudo);
  }
}

/** Longest time that ending a command may take its caller. */
const endMs = 5_000;

/**
 * Over a channel of its own: not every server passes signals on. Where the connection is gone, so is the way
 * to the command.
 */
async function endCommand(
  connection: Connection,
  [pid, since]: readonly string[],
  sudo: boolean | undefined,
): Promise<void> {
  if (!connection.open || pid === undefined || since === undefined) return;
  const work = (async () => {
    const session = await startProgram(connection, {
      program: endCommandProgram,
      variables: { pid, since },
      sudo,
    });
    try {
      for await (const frame of session.frames) if (frame.kind === 'line') break;
    } finally {
      session.close();
    }
  })().catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    work,
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, endMs);
    }),
  ]);
  clearTimeout(timer);
}

/** The content of a stream behind the login shell's noise, or that noise if nothing else came. */
async function readText(
  stream: Readable,
  nonce: string,
  onBegin?: (words: readonly string[]) => void,
): Promise<{ readonly text: string; readonly begun: boolean }> {
  const output = new Excerpt();
  const { noise, begun } = await readAfterNoise(stream, nonce, {
    onBegin,
    onChunk: (chunk) => output.add(chunk),
  });
  return { text: begun ? output.toString() : noise, begun };
}
