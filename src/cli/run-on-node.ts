import { Readable } from 'node:stream';
import { runAttached } from '../ssh/attached.js';
import { wordsForFileError } from '../schema/read-text.js';
import { connect } from '../ssh/connect.js';
import type { Connection } from '../ssh/connection.js';
import { unpack } from '../ssh/copy.js';
import { Excerpt } from '../ssh/excerpt.js';
import type { SshTarget } from '../ssh/target.js';
import { packStream } from '../store/archive/pack-stream.js';
import { cleanLine, cleanText } from './clean-text.js';
import { writeDraining } from './drained.js';
import { messageOf } from './report-error.js';

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
  readonly copy?: string | undefined;
  readonly sudo?: boolean | undefined;
  readonly variables?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Shows nothing that comes after the signal. */
  readonly untilAborted?: boolean;
  /** Called for each part of the output. */
  readonly onOutput?: () => void;
  /**
   * To the standard streams as it is, each line after the name of the node, to the result, or line by line.
   */
  readonly output: 'plain' | 'prefixed' | 'kept' | OnLine;
}

/** @param line without its end. The node's output is read no faster than this settles. */
type OnLine = (stream: 'stdout' | 'stderr', line: string) => Promise<void> | void;

/** In characters: a longer line is passed on in parts. */
const longestLine = 65_536;

/** Copies files to a node and runs a command there. Its result says what failed; never throws. */
export async function runOnNode(
  node: string,
  findTarget: () => Promise<SshTarget>,
  { command, folder, copy, sudo, variables = {}, signal, output, onOutput, untilAborted }: NodeRunOptions,
): Promise<NodeRun> {
  const kept = { stdout: new Excerpt(), stderr: new Excerpt() };
  const sinks =
    output === 'kept'
      ? undefined
      : {
          stdout: sinkOf('stdout', node, { output, signal, untilAborted }),
          stderr: sinkOf('stderr', node, { output, signal, untilAborted }),
        };
  const received = (stream: 'stdout' | 'stderr') => async (chunk: Buffer) => {
    onOutput?.();
    if (sinks === undefined) kept[stream].add(chunk);
    else await sinks[stream].write(chunk);
  };
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
        variables: { ...variables, HEDDLE_NODE: node },
        sudo,
        onStdout: received('stdout'),
        onStderr: received('stderr'),
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
    packStream(path, {
      onFailure: (cause) => {
        unreadable = new Error(`--copy ${path} cannot be read: ${wordsForFileError(cause)}`, { cause });
        return unreadable;
      },
    }),
  );
  await unpack(connection, folder, archive, signal).catch((error: unknown) => {
    throw unreadable ?? error;
  });
}

interface Sink {
  readonly write: (chunk: Buffer) => Promise<void>;
  readonly end: () => Promise<void>;
}

interface ShownRun extends Pick<NodeRunOptions, 'signal' | 'untilAborted'> {
  readonly output: 'plain' | 'prefixed' | OnLine;
}

/** Terminals get no control characters of a node. Whole lines of several nodes stay whole. */
function sinkOf(
  name: 'stdout' | 'stderr',
  node: string,
  { output, signal, untilAborted = false }: ShownRun,
): Sink {
  const stream = process[name];
  const clean = (text: string): string => (stream.isTTY ? cleanText(text) : text);
  const isOver = (): boolean => untilAborted && signal.aborted;
  const put = async (data: string | Buffer): Promise<void> => {
    if (!isOver()) await writeDraining(stream, data, signal);
  };
  if (output === 'plain' && !stream.isTTY) return { write: put, end: async () => undefined };
  const decoder = new TextDecoder();
  let held = '';
  const lines = async (text: string): Promise<void> => {
    const end = text.length > longestLine && !text.includes('\n') ? text.length : text.lastIndexOf('\n') + 1;
    held = text.slice(end);
    if (end === 0) return;
    const whole = text.slice(0, end);
    if (isOver()) return;
    if (typeof output === 'function') {
      for (const line of whole.replace(/\n$/, '').split('\n')) if (!isOver()) await output(name, line);
    } else if (output === 'plain') await put(clean(whole));
    // What other nodes print begins on a line of its own, also after a part of a long line.
    else await put(prefix(node, clean(whole)).replace(/(?<!\n)$/, '\n'));
  };
  return {
    write: (chunk) => lines(held + decoder.decode(chunk, { stream: true })),
    end: () => lines(held === '' ? '' : `${held}\n`),
  };
}

function prefix(node: string, lines: string): string {
  return lines.replace(/^(?=.|\n)/gm, `[${node}] `);
}
