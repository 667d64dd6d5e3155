import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { childEnvironment } from '../../../config/child-environment.js';
import { signalQuietly } from '../../../config/process-table.js';
import { PluginError, type Calls, type FailureKind } from '../../contract.js';
import type { LibvirtFields } from './field-types.js';

/** Limit for virsh's output. */
const maxBytes = 64 * 1_024 * 1_024;

/** Commands are one argument, which Linux limits to 128 KiB; names of volumes have up to 255 bytes. */
const mostCommands = 300;

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const intoVirsh = 'cat | "$@"';
/** The exit code is that of the last command, so an error is printed too. */
const outOfVirsh = '{ "$@" || echo "error: virsh ended with exit code $?" >&2; } | cat';

/** What is printed after everything else: an answer without it is cut off, or not virsh's. */
const endMark = 'heddle-end-of-answer';

export interface Answer {
  readonly stdout: string;
  /** What it said was wrong, a line each. */
  readonly errors: readonly string[];
}

interface RunOptions {
  /** For `/dev/stdin`. */
  readonly input?: string | Buffer | Readable;
  /** Takes what virsh writes to `/dev/stdout`, which may be long. */
  readonly output?: (content: Readable) => Promise<void>;
  /** An error that the caller knows. */
  readonly also?: RegExp;
}

/** What libvirt says when it has no such thing. */
export const absent =
  /^error: (failed to get (domain|vol) |Domain not found|Storage volume not found|Failed to (get|find) )/i;

/** Errors that mean that the wanted state holds already. */
export const existsAlready =
  /already exists|exists already|already active|already running|already in use|already defined/i;
export const noDomain = /failed to get domain|domain not found|not running|not active/i;

/** Runs virsh on the worker. Commands get their words apart, and XML or bytes on standard input. */
export class Virsh {
  readonly #fields: Pick<LibvirtFields, 'uri' | 'program'>;
  readonly #calls: Calls;
  readonly signal: AbortSignal;

  constructor(fields: Pick<LibvirtFields, 'uri' | 'program'>, signal: AbortSignal, calls: Calls) {
    this.#fields = fields;
    this.#calls = calls;
    this.signal = signal;
  }

  /**
   * Runs several commands on one connection, and further connections for many; each runs
   * whatever the result of the previous one.
   */
  async batch(commands: readonly string[]): Promise<Answer> {
    const answers: Answer[] = [];
    for (let first = 0; first < commands.length; first += mostCommands) {
      const part = commands.slice(first, first + mostCommands);
      const { stdout, errors } = await this.#run([[...part, `echo ${endMark}`].join('; ')]);
      const end = stdout.lastIndexOf(endMark);
      if (end === -1) throw this.#failure(errors);
      answers.push({ stdout: stdout.slice(0, end), errors });
    }
    return {
      stdout: answers.map(({ stdout }) => stdout).join(''),
      errors: answers.flatMap(({ errors }) => errors),
    };
  }

  /** One command that must succeed, or fail with what `also` knows. */
  async run(
    words: readonly string[],
    { also, ...streams }: RunOptions = {},
  ): Promise<Answer & { readonly ok: boolean }> {
    const { code, stdout, errors } = await this.#run(words, streams);
    if (code === 0 && errors.length === 0) return { stdout, errors, ok: true };
    // A connection that is lost looks like absence, but for another line.
    if (
      code === 1 &&
      also !== undefined &&
      errors.some((line) => also.test(line)) &&
      !errors.some((line) => lost.test(line))
    )
      return { stdout, errors, ok: false };
    throw this.#failure(errors);
  }

  fail(errors: readonly string[]): never {
    throw this.#failure(errors);
  }

  #failure(errors: readonly string[]): PluginError {
    const said =
      errors
        .map((line) => line.replace(/^error: /, ''))
        .slice(0, 4)
        .join('; ') || 'its output is not that of virsh';
    return new PluginError(kindOf(said), `virsh: ${said}`);
  }

  async #run(
    words: readonly string[],
    { input, output }: Omit<RunOptions, 'also'> = {},
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly errors: readonly string[] }> {
    await this.#calls.take();
    this.signal.throwIfAborted();
    const { uri, program } = this.#fields;
    const virsh = [program, '--quiet', '--connect', uri, ...words] as const;
    // virsh opens /dev/stdin and /dev/stdout, which must be pipes; Node connects sockets.
    const [first, ...rest] =
      input === undefined && output === undefined
        ? virsh
        : (['sh', '-c', output === undefined ? intoVirsh : outOfVirsh, 'sh', ...virsh] as const);
    const child = spawn(first, rest, {
      // A connection over SSH may need files of the user's home.
      env: childEnvironment({ set: { PATH: searchPath, HOME: homedir(), LC_ALL: 'C' } }),
      detached: true,
    });
    const end = (): void => {
      if (child.pid !== undefined) signalQuietly(-child.pid, 'SIGKILL');
    };
    this.signal.addEventListener('abort', end, { once: true });
    const unlessTooLong = (error: unknown): never => {
      end();
      throw error;
    };
    try {
      const [code, stdout, stderr] = await Promise.all([
        exitCodeOf(child),
        output === undefined
          ? readText(child.stdout).catch(unlessTooLong)
          : output(child.stdout).then(() => '', unlessTooLong),
        readText(child.stderr).catch(unlessTooLong),
        // virsh may end before it has read everything; what it prints then says why.
        pipeline(Readable.from(input ?? []), child.stdin).catch(() => undefined),
      ]);
      this.signal.throwIfAborted();
      const errors = stderr.split('\n').filter((line) => line.startsWith('error: '));
      return { code, stdout, errors };
    } catch (error) {
      this.signal.throwIfAborted();
      if (child.pid !== undefined) throw error;
      throw new PluginError(
        'Invalid',
        `${program} cannot be run on this worker: ${error instanceof Error ? error.message : String(error)}. Install it (libvirt-clients), or set the field program.`,
        { cause: error },
      );
    } finally {
      this.signal.removeEventListener('abort', end);
    }
  }
}

async function exitCodeOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

/** Reads a stream to its end. @throws PluginError if it is longer than `maxBytes`. */
async function readText(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new PluginError('Invalid', `virsh printed more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const lost =
  /failed to connect|cannot recv|cannot send|end of file|connection (refused|reset|closed)|client socket is closed|timed? ?out|broken pipe|temporarily|cannot acquire state change lock/i;

const kinds: readonly (readonly [RegExp, FailureKind])[] = [
  [/authentication|permission denied|not authorized|access denied|publickey/i, 'Auth'],
  [
    /no space left|not enough (free )?(space|memory|disk)|cannot allocate memory|disk quota|insufficient/i,
    'Capacity',
  ],
  [lost, 'Retryable'],
  [
    /no storage pool|pool not found|failed to get pool|is not active|network not found|no network|cannot get interface|unsupported configuration|XML error|invalid argument|not supported|no emulator|does not support|unexpected .*URI|could not find capabilities|no connection driver|cannot find/i,
    'Invalid',
  ],
];

function kindOf(said: string): FailureKind {
  return kinds.find(([pattern]) => pattern.test(said))?.[1] ?? 'Retryable';
}
