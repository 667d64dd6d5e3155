import { once } from 'node:events';
import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { create, type ReadEntry } from 'tar';
import { runAttached, unpack } from '../../ssh/attached.js';
import { wordsForFileError } from '../../schema/read-text.js';
import { connect } from '../../ssh/connect.js';
import type { Connection } from '../../ssh/connection.js';
import { Excerpt } from '../../ssh/excerpt.js';
import type { SshTarget } from '../../ssh/target.js';
import { cleanLine, cleanText } from '../clean-text.js';
import { isReaderGone } from '../interrupts.js';
import { messageOf } from '../report-error.js';

/** How a command ended on a node. */
export interface NodeRun {
  readonly node: string;
  /** Null if it is unknown, or the command did not run. */
  readonly exitCode: number | null;
  readonly problem?: string;
  /** With --json. */
  readonly stdout?: string;
  readonly stderr?: string;
}

export interface NodeRunOptions {
  /** Shell text. */
  readonly command: string;
  readonly folder: string;
  /** Its content is copied to the folder if it is a folder itself, otherwise the file. */
  readonly copy: string | undefined;
  readonly signal: AbortSignal;
  /** To the standard streams as it is, each line after the name of the node, or to the result. */
  readonly output: 'plain' | 'prefixed' | 'kept';
}

/** Copies files to a node and runs a command there. Its result says what failed; never throws. */
export async function runOnNode(
  node: string,
  findTarget: () => Promise<SshTarget>,
  { command, folder, copy, signal, output }: NodeRunOptions,
): Promise<NodeRun> {
  const kept = { stdout: new Excerpt(), stderr: new Excerpt() };
  const sinks =
    output === 'kept'
      ? undefined
      : { stdout: sinkOf(process.stdout, node, output), stderr: sinkOf(process.stderr, node, output) };
  const end = async (exitCode: number | null, problem?: string): Promise<NodeRun> => {
    await sinks?.stdout.end();
    await sinks?.stderr.end();
    const printed =
      sinks === undefined ? { stdout: kept.stdout.toString(), stderr: kept.stderr.toString() } : {};
    return { node, exitCode, problem, ...printed };
  };
  try {
    const connection = await connect(await findTarget(), { signal });
    try {
      if (copy !== undefined) await copyTo(connection, folder, copy, signal);
      const exitCode = await runAttached(connection, {
        folder,
        command,
        variables: { HEDDLE_NODE: node },
        onStdout: sinks?.stdout.write ?? ((chunk) => kept.stdout.add(chunk)),
        onStderr: sinks?.stderr.write ?? ((chunk) => kept.stderr.add(chunk)),
        signal,
      });
      return await end(exitCode);
    } finally {
      connection.close();
    }
  } catch (error) {
    return end(null, messageOf(error));
  }
}

/** `small-1: exit code 3`. */
export function describeRun({ node, exitCode, problem }: NodeRun): string {
  return exitCode === null
    ? `error: ${node}: ${cleanLine(problem ?? 'its exit code is unknown')}`
    : `${node}: exit code ${exitCode}`;
}

/** If a file cannot be read, the node only sees an archive that is cut off; the cause is here. */
async function copyTo(
  connection: Connection,
  folder: string,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  let unreadable: Error | undefined;
  const archive = Readable.from(
    pack(path, (cause) => {
      unreadable = new Error(`--copy ${path} cannot be read: ${wordsForFileError(cause)}`, { cause });
      return unreadable;
    }),
  );
  await unpack(connection, folder, archive, signal).catch((error: unknown) => {
    throw unreadable ?? error;
  });
}

/** A gzipped archive. Owners, sockets, FIFOs and devices stay behind; modes and links are kept. */
async function* pack(path: string, onFailure: (cause: unknown) => Error): AsyncGenerator<Uint8Array> {
  const place = resolve(path);
  try {
    const isFolder = (await lstat(`${place}/.`).catch(() => undefined))?.isDirectory() === true;
    const [cwd, entry] = isFolder ? [place, '.'] : [dirname(place), `./${basename(place)}`];
    const filter = (_path: string, about: Stats | ReadEntry): boolean => isCopied(about);
    // A link stands for the file that it leads to.
    yield* create({ cwd, gzip: true, portable: true, follow: !isFolder, filter }, [entry]);
  } catch (cause) {
    throw onFailure(cause);
  }
}

/** What an archive can hold: reading a FIFO or a device may never end. */
function isCopied(about: Stats | ReadEntry): boolean {
  return !('isFile' in about) || about.isFile() || about.isDirectory() || about.isSymbolicLink();
}

interface Sink {
  readonly write: (chunk: Buffer) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** Terminals get no control characters of a node. Whole lines of several nodes stay whole. */
function sinkOf(stream: NodeJS.WriteStream, node: string, output: 'plain' | 'prefixed'): Sink {
  const clean = (text: string): string => (stream.isTTY ? cleanText(text) : text);
  const put = async (data: string | Buffer): Promise<void> => {
    // Without a reader, the command is interrupted.
    if (isReaderGone()) return;
    if (!stream.write(data)) await once(stream, 'drain').catch(() => undefined);
  };
  if (output === 'plain' && !stream.isTTY) return { write: put, end: async () => undefined };
  const decoder = new TextDecoder();
  let held = '';
  const lines = async (text: string): Promise<void> => {
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    held = text.slice(whole.length);
    if (whole !== '') await put(output === 'plain' ? clean(whole) : prefix(node, clean(whole)));
  };
  return {
    write: (chunk) => lines(held + decoder.decode(chunk, { stream: true })),
    end: () => lines(held === '' ? '' : `${held}\n`),
  };
}

function prefix(node: string, lines: string): string {
  return lines.replace(/^(?=.|\n)/gm, `[${node}] `);
}
