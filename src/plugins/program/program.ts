import { spawn, type ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import type { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { childEnvironment } from '../../config/child-environment.js';
import { signalQuietly } from '../../config/process-table.js';
import { markedCommand, memoryOf } from './processes.js';
import { limits, LineSplitter } from './protocol.js';
import type { Left, Sandbox } from './sandbox.js';

export interface LaunchOptions {
  /** The plugin's name, for messages. */
  readonly plugin: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  /** `own`: messages use file descriptor 3 in both directions, and standard output is log output. */
  readonly channel: 'stdio' | 'own';
}

/** How a program ended; `words` is a predicate whose subject is the program. */
export interface ProgramEnd {
  readonly words: string;
  readonly exitCode?: number;
  /** Why it was killed, if it broke a rule. */
  readonly fault?: string;
}

export interface Listener {
  /** Receives a line of its messages. */
  line(text: string): void;
  /** Receives a line of log output. */
  said(text: string): void;
}

export const silent: Listener = { line: () => undefined, said: () => undefined };

/** Time between SIGTERM and SIGKILL, in ms. */
const termMs = 500;

/** Time to wait for its output after its exit, in ms: processes that left its group may hold it open. */
const drainMs = 500;
const maxPasses = 100;

const nothingSent = { characters: 0, lines: 0, spoken: 0 };

/** A running program with its own process group and HOME. */
export class Program {
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcess;
  readonly #input: Writable | null;
  readonly #sandbox: Sandbox;
  #listener = silent;
  #sent = { ...nothingSent };
  #fault: string | undefined;
  #chunks = 0;

  constructor(sandbox: Sandbox, { plugin, command, cwd, environment, memoryBytes, channel }: LaunchOptions) {
    const home = sandbox.makeHome();
    const [program = '', ...words] = markedCommand(home, command);
    this.#sandbox = sandbox;
    this.#child = spawn(program, words, {
      cwd,
      env: childEnvironment({ set: { ...environment, HOME: home } }),
      detached: true,
      stdio: channel === 'own' ? ['ignore', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
    });
    const { pid, stdin, stdout, stderr, stdio } = this.#child;
    const own = stdio[3] instanceof Socket ? stdio[3] : null;
    this.#input = channel === 'own' ? own : stdin;
    // The program may end before it reads.
    this.#input?.on('error', () => undefined);
    this.ended = this.#watch({ home, plugin }, [
      this.#readMessages(channel === 'own' ? own : stdout),
      this.#readSpoken(stderr),
      ...(channel === 'own' ? [this.#readSpoken(stdout)] : []),
    ]);
    if (pid !== undefined) sandbox.guard({ pid, home, memoryBytes, onExceeded: (fault) => this.kill(fault) });
  }

  /** Replaces the listener, and restarts the output count. */
  listen(listener: Listener): void {
    this.#listener = listener;
    this.#sent = { ...nothingSent };
  }

  /** @returns false when its input is closed. */
  send(message: object): boolean {
    if (this.#input === null || this.#input.destroyed || this.#input.writableEnded) return false;
    this.#input.write(`${JSON.stringify(message)}\n`);
    if (this.#input.writableLength > limits.unread) this.kill('it does not read its input');
    return true;
  }

  closeInput(): void {
    this.#input?.end();
  }

  /** Ends it by SIGTERM, then by SIGKILL. */
  async stop(): Promise<ProgramEnd> {
    this.#signal('SIGTERM');
    const late = setTimeout(() => this.#signal('SIGKILL'), termMs);
    return this.ended.finally(() => clearTimeout(late));
  }

  /** Kills its process group at once, because of a fault. */
  kill(fault: string): void {
    this.#fault ??= fault;
    this.#signal('SIGKILL');
  }

  /** Memory of the program without its children, in bytes; 0 where unknown. */
  memoryBytes(): number {
    return this.#child.pid === undefined ? 0 : memoryOf(this.#child.pid);
  }

  /**
   * Reads until the event loop delivers no more output, so that everything written before now has been read.
   */
  async readRest(): Promise<void> {
    for (let pass = 0, seen = -1; pass < maxPasses && seen !== this.#chunks; pass += 1) {
      seen = this.#chunks;
      await nextTurn();
      await nextTurn();
    }
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) signalQuietly(-pid, signal);
  }

  #readMessages(stream: Readable | null): Promise<void> {
    const lines = new LineSplitter(limits.line, (line) => {
      this.#sent.lines += 1;
      if (this.#sent.lines <= limits.lines) this.#listener.line(line);
      else this.kill(`it wrote more than ${limits.lines} lines`);
    });
    return this.#read(stream, lines, (text) => {
      if (!lines.push(text)) this.kill(`it wrote a result line of more than ${limits.line} characters`);
    });
  }

  /** Very long log output is read only at its beginning and end. */
  #readSpoken(stream: Readable | null): Promise<void> {
    const lines = new LineSplitter(Infinity, (line) => this.#listener.said(line));
    let end = '';
    return this.#read(
      stream,
      lines,
      (text) => {
        this.#sent.spoken += text.length;
        if (this.#sent.spoken > limits.log) {
          end = (end + text).slice(-limits.lastWords);
          return;
        }
        lines.push(end + text);
        end = '';
      },
      () => lines.push(end),
    );
  }

  async #read(
    stream: Readable | null,
    lines: LineSplitter,
    onText: (text: string) => void,
    onEnd?: () => void,
  ): Promise<void> {
    if (stream === null) return;
    stream.setEncoding('utf8').on('data', (text: string) => {
      this.#chunks += 1;
      this.#sent.characters += text.length;
      if (this.#sent.characters > limits.call) this.kill(`it wrote more than ${limits.call} characters`);
      // Output of a program that is being killed is ignored.
      if (this.#fault === undefined) onText(text);
    });
    await finished(stream, { writable: false }).catch(() => undefined);
    if (this.#fault !== undefined) return;
    onEnd?.();
    lines.end();
  }

  async #watch(own: Omit<Left, 'pid'>, readings: readonly Promise<void>[]): Promise<ProgramEnd> {
    const end = await new Promise<ProgramEnd>((resolve) => {
      this.#child.once('error', (error) => resolve({ words: `cannot be started: ${error.message}` }));
      this.#child.once('exit', (exitCode, signal) =>
        resolve(
          exitCode === null
            ? { words: `was ended by ${signal}` }
            : { words: `ended with exit code ${exitCode}`, exitCode },
        ),
      );
    });
    const { pid, stdio } = this.#child;
    // Children in its group hold the streams open.
    if (pid !== undefined) signalQuietly(-pid, 'SIGKILL');
    await Promise.race([Promise.all(readings), pause(drainMs, undefined, { ref: false })]);
    await this.readRest();
    for (const stream of stdio) stream?.destroy();
    this.#sandbox.leave({ ...own, pid: pid ?? 0 });
    const fault = this.#fault;
    return fault === undefined ? end : { ...end, words: `was ended: ${fault}`, fault };
  }
}
