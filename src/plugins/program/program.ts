import { spawn, type ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { childEnvironment } from '../../config/child-environment.js';
import { LineSplitter } from './lines.js';
import { memoryOf, signalGroup } from './processes.js';
import { maxLines, sizes } from './protocol.js';
import type { Workshop } from './workshop.js';

export interface LaunchOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  /**
   * `stdio`: it talks on standard input and output. `own`: on file descriptor 3, and its standard output is
   * for people.
   */
  readonly channel: 'stdio' | 'own';
}

/** How a program ended, in words that go on a sentence about it. */
export interface ProgramEnd {
  readonly words: string;
  readonly exitCode?: number;
  /** Set when it was ended for what it did. */
  readonly fault?: string;
}

export interface Listener {
  /** A line of what it sends. */
  line(text: string): void;
  /** A line for people. */
  said(text: string): void;
}

/** How long a program has to go by itself once SIGTERM was sent, in ms. */
const termMs = 500;

/**
 * How long output is waited for that others may hold open, in ms; and turns of the event loop in which it is
 * read after that.
 */
const drainMs = 500;
const drainTurns = 100;

const noCounts = { bytes: 0, lines: 0, words: 0 };

const nobody: Listener = { line: () => undefined, said: () => undefined };

/** A running program with all that it starts: a process group of its own, in a folder of its own. */
export class Program {
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcess;
  readonly #input: Writable | null;
  readonly #workshop: Workshop;
  #listener = nobody;
  #counts = noCounts;
  #fault: string | undefined;
  /** Pieces of output that came. */
  #chunks = 0;

  constructor(workshop: Workshop, options: LaunchOptions) {
    const {
      command: [program = '', ...words],
      cwd,
      environment,
      memoryBytes,
      channel,
    } = options;
    const home = workshop.makeHome();
    const stdio =
      channel === 'own' ? (['ignore', 'pipe', 'pipe', 'pipe'] as const) : (['pipe', 'pipe', 'pipe'] as const);
    this.#workshop = workshop;
    this.#child = spawn(program, words, {
      cwd,
      env: childEnvironment({ set: { ...environment, HOME: home } }),
      detached: true,
      stdio: [...stdio],
    });
    const own = this.#child.stdio[3];
    this.#input = channel === 'own' ? (own instanceof Socket ? own : null) : this.#child.stdin;
    const output = channel === 'own' ? (own instanceof Socket ? own : null) : this.#child.stdout;
    const spoken = channel === 'own' ? [this.#child.stdout, this.#child.stderr] : [this.#child.stderr];
    // It may end before it reads, or be killed while it is written to.
    this.#input?.on('error', () => undefined);
    const streams = [
      this.#read(output, sizes.line, (text) => this.#listener.line(text), 'as its answer'),
      ...spoken.map((stream) => this.#readCut(stream)),
    ];
    this.ended = this.#watch(home, streams);
    if (this.#child.pid !== undefined)
      workshop.guard({ pid: this.#child.pid, home, memoryBytes, over: (wrong) => this.kill(wrong) });
  }

  /** Who hears it from now on; the counts of what it sent begin anew. */
  listen(listener: Listener): void {
    this.#listener = listener;
    this.#counts = noCounts;
  }

  /** False when it hears nothing any more. */
  send(message: object): boolean {
    if (this.#input === null || this.#input.destroyed || this.#input.writableEnded) return false;
    this.#input.write(`${JSON.stringify(message)}\n`);
    if (this.#input.writableLength > sizes.unread) this.kill('it does not read what it is sent');
    return true;
  }

  /** Nothing more will be sent. */
  closeInput(): void {
    this.#input?.end();
  }

  /** Asks it to go, then makes it. */
  async stop(): Promise<ProgramEnd> {
    // Whoever waits for its end must live that long: one that stood ready was let go.
    this.hold();
    this.#signal('SIGTERM');
    const waiting = new AbortController();
    const late = pause(termMs, undefined, { signal: waiting.signal }).then(
      () => this.#signal('SIGKILL'),
      () => undefined,
    );
    const end = await this.ended;
    waiting.abort();
    await late;
    return end;
  }

  /** Ends it at once, with everything it started. */
  kill(fault: string): void {
    this.#fault ??= fault;
    this.#signal('SIGKILL');
  }

  /** Of the program itself, without what it started; 0 where that cannot be read cheaply. */
  memoryBytes(): number {
    return this.#child.pid === undefined ? 0 : memoryOf(this.#child.pid);
  }

  /** Whether this process waits for it. One that only stands ready must not keep a command from ending. */
  hold(): void {
    this.#eachHandle((handle) => handle.ref());
  }

  letGo(): void {
    this.#eachHandle((handle) => handle.unref());
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null)
      signalGroup(this.#child.pid, signal);
  }

  #eachHandle(change: (handle: ChildProcess | Socket) => void): void {
    change(this.#child);
    for (const stream of this.#child.stdio) if (stream instanceof Socket) change(stream);
  }

  #read(
    stream: Readable | null,
    maxLine: number,
    onLine: (line: string) => void,
    where: string,
  ): Promise<void> {
    const lines = new LineSplitter(maxLine, (line) => {
      this.#counts = { ...this.#counts, lines: this.#counts.lines + 1 };
      if (this.#counts.lines <= maxLines) onLine(line);
      else this.kill(`it wrote more than ${maxLines} lines`);
    });
    return this.#consume(
      stream,
      (chunk) => {
        this.#count(chunk);
        if (!lines.push(chunk)) this.kill(`it wrote a line of more than ${maxLine} bytes ${where}`);
      },
      () => lines.end(),
    );
  }

  /**
   * What is for people is cut where it is too long, and no fault: of very much only the beginning and the end
   * are read.
   */
  #readCut(stream: Readable | null): Promise<void> {
    const lines = new LineSplitter(Number.MAX_SAFE_INTEGER, (line) => this.#listener.said(line));
    let inLine = 0;
    let last: Buffer | undefined;
    return this.#consume(
      stream,
      (chunk) => {
        this.#count(chunk);
        this.#counts = { ...this.#counts, words: this.#counts.words + chunk.length };
        if (this.#counts.words > sizes.log) {
          last = chunk;
          return;
        }
        inLine = chunk.includes(10) ? chunk.length - chunk.lastIndexOf(10) - 1 : inLine + chunk.length;
        lines.push(inLine > sizes.logLine ? Buffer.concat([chunk, Buffer.from('\n')]) : chunk);
        if (inLine > sizes.logLine) inLine = 0;
      },
      () => {
        lines.push(last?.subarray(-sizes.lastWords) ?? Buffer.alloc(0));
        lines.end();
      },
    );
  }

  #count(chunk: Buffer): void {
    this.#counts = { ...this.#counts, bytes: this.#counts.bytes + chunk.length };
    if (this.#counts.bytes > sizes.call) this.kill(`it wrote more than ${sizes.call} bytes`);
  }

  #consume(stream: Readable | null, onData: (chunk: Buffer) => void, onEnd: () => void): Promise<void> {
    return new Promise((resolve) => {
      if (stream === null) return resolve();
      stream.on('data', (chunk: Buffer) => {
        this.#chunks += 1;
        // What still comes from one that is being ended is of no use to anybody.
        if (this.#fault === undefined) onData(chunk);
      });
      stream.once('error', () => resolve());
      stream.once('close', () => {
        if (this.#fault === undefined) onEnd();
        resolve();
      });
    });
  }

  async #watch(home: string, streams: readonly Promise<void>[]): Promise<ProgramEnd> {
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
    // What it left behind in its group goes with it, and lets go of the streams.
    if (this.#child.pid !== undefined) signalGroup(this.#child.pid, 'SIGKILL');
    const drained = new AbortController();
    await Promise.race([
      Promise.all(streams),
      pause(drainMs, undefined, { signal: drained.signal }).catch(() => undefined),
    ]);
    drained.abort();
    await this.#readRest();
    for (const stream of this.#child.stdio) stream?.destroy();
    this.#workshop.leave(this.#child.pid ?? 0, home);
    return this.#fault === undefined
      ? end
      : { ...end, words: `was ended: ${this.#fault}`, fault: this.#fault };
  }

  /** A busy process learns that the time is over before it has read what came long ago. */
  async #readRest(): Promise<void> {
    for (let turn = 0, chunks = -1; turn < drainTurns && chunks !== this.#chunks; turn += 1) {
      chunks = this.#chunks;
      await nextTurn();
      await nextTurn();
    }
  }
}
