import { homedir } from 'node:os';
import type { Readable } from 'node:stream';
import { execa } from 'execa';
import { childOptions } from '../../../config/child-environment.js';
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
   * Runs several commands on one connection, and further connections for many; each runs whatever the result of the
   * previous one.
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
        .join('; ') || "it gave no answer that is virsh's";
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
    const child = execa(first, rest, {
      // A connection over SSH may need files of the user's home.
      ...childOptions({ set: { PATH: searchPath, HOME: homedir(), LC_ALL: 'C' } }),
      input: input ?? '',
      detached: true,
      killSignal: 'SIGKILL',
      maxBuffer: maxBytes,
      buffer: { stdout: output === undefined },
      reject: false,
      stripFinalNewline: false,
    });
    const end = (): void => endGroup(child.pid);
    this.signal.addEventListener('abort', end, { once: true });
    const taken = output?.(child.stdout).catch((error: unknown) => {
      end();
      throw error;
    });
    const [{ exitCode, isMaxBuffer, stdout, stderr, cause }] = await Promise.all([child, taken]).finally(() =>
      this.signal.removeEventListener('abort', end),
    );
    if (isMaxBuffer) end();
    this.signal.throwIfAborted();
    if (child.pid === undefined)
      throw new PluginError(
        'Invalid',
        `${program} cannot be run on this worker: ${cause instanceof Error ? cause.message : 'unknown error'}. Install it (libvirt-clients), or set the field program.`,
        { cause },
      );
    const errors = stderr.split('\n').filter((line) => line.startsWith('error: '));
    return { code: exitCode ?? null, stdout, errors };
  }
}

/** Ends the process with its children. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended already.
  }
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
