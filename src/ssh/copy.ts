import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ClientChannel } from 'ssh2';
import { within } from '../model/signals.js';
import { PluginError, wrapError } from '../plugins/errors.js';
import { readAfterNoise } from './after-noise.js';
import type { Connection } from './connection.js';
import { Excerpt } from './excerpt.js';
import { connectionLost } from './failure.js';
import { notBegun } from './not-begun.js';
import { printable } from './printable.js';
import { programTextBeforeInput, remoteCommand } from './remote-command.js';
import { readFilesProgram, unpackProgram, writeFilesProgram } from './remote/copy.js';
import { discard, exitOf } from './session.js';
import { describeTarget } from './target.js';

export interface ReadFiles {
  /** Relative paths start in the home of the login user. */
  readonly path: string;
  readonly sudo?: boolean | undefined;
  readonly signal: AbortSignal;
  /** What the node says that it is; called before the first chunk. */
  readonly onKind: (kind: string) => void;
  /** Parts of a tar archive; none after the signal. Must not throw. */
  readonly onChunk: (chunk: Buffer) => void;
}

/** What tar says of files that change while it reads them, with exit code 1. */
const passing = /(changed as we read it|removed before we read it|socket ignored|shrank by)/;

/**
 * Reads a file or a folder of a node as a tar archive. Returns what tar warned of.
 * @throws PluginError Invalid with the words of the node, Auth when sudo is refused, Retryable when the
 * connection was lost.
 */
export async function readFiles(
  connection: Connection,
  { path, sudo, signal, onKind, onChunk }: ReadFiles,
): Promise<readonly string[]> {
  const nonce = randomBytes(16).toString('hex');
  const channel = await begin(connection, {
    program: readFilesProgram,
    nonce,
    variables: { path },
    sudo,
    signal,
  });
  const complaints = new Excerpt();
  const exit = exitOf(channel);
  try {
    const outputs = Promise.all([
      readAfterNoise(channel, nonce, {
        onBegin: ([kind = '']) => onKind(kind),
        // Chunks still arrive while the channel closes.
        onChunk: (chunk) => (signal.aborted ? undefined : onChunk(chunk)),
      }),
      readAfterNoise(channel.stderr, nonce, { onChunk: (chunk) => complaints.add(chunk) }),
    ]);
    channel.end();
    const exitCode = await within(exit, signal);
    if (exitCode === undefined) throw connectionLost(connection.target);
    const [{ begun: hasContent }, said] = await outputs;
    const lines = linesOf(complaints);
    const isComplete =
      exitCode === 0 || (exitCode === 1 && lines.length > 0 && lines.every((line) => passing.test(line)));
    if (isComplete && hasContent && said.begun) return lines;
    throw refused(connection, `cannot read ${path} on`, { sudo, exitCode, ...said, lines });
  } finally {
    discard(channel);
  }
}

export interface WriteFiles {
  /**
   * A folder that exists takes the source under its name; relative paths start in the home of the login user.
   */
  readonly path: string;
  readonly kind: 'file' | 'folder';
  /** Of the source; `.` if only the content of a folder is meant. */
  readonly name: string;
  readonly sudo?: boolean | undefined;
  readonly signal: AbortSignal;
}

/**
 * Writes a file or a folder on a node from a gzipped tar archive. Nothing appears under its final name before
 * the whole archive has arrived.
 * @throws PluginError Invalid with the words of the node, Auth when sudo is refused, Retryable when the
 * connection was lost.
 */
export async function writeFiles(
  connection: Connection,
  archive: Readable,
  { path, kind, name, sudo, signal }: WriteFiles,
): Promise<void> {
  await sendArchive(connection, archive, {
    program: writeFilesProgram,
    variables: { path, kind, name },
    sudo,
    signal,
    what: `cannot write ${path} on`,
  });
}

/**
 * Unpacks a gzipped tar archive into a new folder below the home of the login user.
 * @throws PluginError Invalid with the words of the node, Retryable when the connection was lost.
 */
export async function unpack(
  connection: Connection,
  folder: string,
  archive: Readable,
  signal: AbortSignal,
): Promise<void> {
  await sendArchive(connection, archive, {
    program: unpackProgram,
    variables: { folder },
    sudo: false,
    signal,
    what: 'cannot unpack files on',
  });
}

interface SendArchive extends Omit<Begin, 'nonce'> {
  /** The beginning of an error. */
  readonly what: string;
}

async function sendArchive(
  connection: Connection,
  archive: Readable,
  { what, signal, ...program }: SendArchive,
): Promise<void> {
  const nonce = randomBytes(16).toString('hex');
  const channel = await begin(connection, { ...program, nonce, signal });
  const complaints = new Excerpt();
  const exit = exitOf(channel);
  try {
    channel.resume();
    const said = readAfterNoise(channel.stderr, nonce, { onChunk: (chunk) => complaints.add(chunk) });
    // Why the other side stopped reading is known from its exit code.
    const sent = pipeline(archive, channel, { signal }).then(
      () => undefined,
      (error: unknown) => error,
    );
    const problem = await Promise.race([sent, exit.then(() => undefined)]);
    signal.throwIfAborted();
    const exitCode = await within(exit, signal);
    if (exitCode === undefined) throw connectionLost(connection.target, problem);
    const { begun, noise } = await said;
    // A login shell that runs nothing may exit with 0 too.
    if (exitCode === 0 && problem === undefined && begun) return;
    if (!connection.open) throw connectionLost(connection.target, problem);
    throw refused(connection, what, {
      sudo: program.sudo,
      exitCode,
      begun,
      noise,
      lines: linesOf(complaints),
      cause: problem,
    });
  } finally {
    discard(channel);
  }
}

interface Begin {
  readonly program: string;
  readonly nonce: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly sudo: boolean | undefined;
  readonly signal: AbortSignal;
}

async function begin(
  connection: Connection,
  { program, nonce, variables, sudo, signal }: Begin,
): Promise<ClientChannel> {
  signal.throwIfAborted();
  const channel = await connection.exec(remoteCommand(connection.target, { input: 'programAndInput', sudo }));
  channel.on('error', () => {
    /* A broken channel shows as a missing exit code. */
  });
  channel.write(programTextBeforeInput({ program, nonce, variables }));
  return channel;
}

function linesOf(complaints: Excerpt): readonly string[] {
  return complaints
    .toString()
    .split('\n')
    .filter((line) => line.trim() !== '');
}

interface Refusal {
  readonly sudo: boolean | undefined;
  readonly exitCode: number;
  readonly begun: boolean;
  readonly noise: string;
  readonly lines: readonly string[];
  readonly cause?: unknown;
}

function refused(
  { target }: Connection,
  what: string,
  { sudo, exitCode, begun, noise, lines, cause }: Refusal,
): PluginError {
  const messageOf = (why: string): string => `${printable(what)} ${describeTarget(target)}: ${why}`;
  if (begun) {
    const complaints = printable(lines.join('; ')).trim().slice(-500) || `exit code ${exitCode}`;
    return new PluginError('Invalid', messageOf(complaints), { cause });
  }
  const error = notBegun({ target }, { sudo, exitCode, said: noise, cause });
  return wrapError(error, messageOf(error.message));
}
