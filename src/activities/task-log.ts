import { StringDecoder } from 'node:string_decoder';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { JsonObject } from '../model/json.js';
import { openLogWriter } from './log-writer.js';
import type { LogStore, Redactor } from './parts.js';
import { Tail } from './tail.js';

/** A task's log in JSON lines: `{t, level, message}` for log entries and `{t, stream, text}` for output. */
export interface TaskLog {
  readonly name: string;
  note(level: string, message: string, attributes?: JsonObject): void;
  /** Settles when there is room for more, so that endless output does not pile up in memory. */
  print(stream: 'stdout' | 'stderr', chunk: Buffer): Promise<void>;
  /** The last output of each stream, for people. */
  tails(): { readonly stdout?: string; readonly stderr?: string };
  /**
   * Writes the rest. A log that cannot be written does not fail its task: the first error is only returned.
   */
  close(): Promise<Error | undefined>;
  /** Sends what was written where readers find it, sooner than the store does by itself. */
  flush(): void;
}

/** Keeps nothing. */
export const noTaskLog: TaskLog = {
  name: '',
  note: () => undefined,
  print: () => Promise.resolve(),
  tails: () => ({}),
  close: () => Promise.resolve(undefined),
  flush: () => undefined,
};

/** Handled at a time, in bytes: a chunk can have megabytes, and its texts and lines several times as many. */
const pieceBytes = 8 * 1024;

/** After so many pieces of one chunk others get their turn. */
const piecesAtOnce = 32;

/** @param redactor the one that knows all secrets known by now; asked again for every piece. */
export function openTaskLog(store: LogStore, name: string, redactor: () => Redactor): TaskLog {
  const writer = openLogWriter(store, name);
  const printed = { stdout: new PrintedStream(redactor), stderr: new PrintedStream(redactor) };
  const streams = ['stdout', 'stderr'] as const;

  const keep = (stream: (typeof streams)[number], redacted: Uint8Array): void => {
    const { tail, decoder } = printed[stream];
    tail.add(redacted);
    if (writer.full()) return;
    const text = decoder.write(Buffer.from(redacted.buffer, redacted.byteOffset, redacted.byteLength));
    if (text !== '') writer.line({ stream, text });
  };
  return {
    name,
    note: (level, message, attributes) => writer.line({ level, message, attributes }),
    async print(stream, chunk) {
      for (let at = 0, pieces = 1; at < chunk.length; at += pieceBytes, pieces += 1) {
        keep(stream, printed[stream].redact(chunk.subarray(at, at + pieceBytes)));
        await writer.room();
        if (pieces % piecesAtOnce === 0) await otherWork();
      }
    },
    tails: () =>
      Object.fromEntries(
        streams.flatMap((stream) => {
          const text = printed[stream].tail.toString();
          return text === '' ? [] : [[stream, text] as const];
        }),
      ),
    async close() {
      for (const stream of streams) keep(stream, printed[stream].end());
      return writer.close();
    },
    flush: () => store.flush(name),
  };
}

/** One output stream of a task: state between two chunks. */
class PrintedStream {
  readonly tail = new Tail();
  /** A character may be split between two pieces. */
  readonly decoder = new StringDecoder('utf8');
  readonly #redactor: () => Redactor;
  #current: { readonly redactor: Redactor; readonly stream: ReturnType<Redactor['stream']> } | undefined;

  constructor(redactor: () => Redactor) {
    this.#redactor = redactor;
  }

  redact(piece: Uint8Array): Uint8Array {
    const redactor = this.#redactor();
    if (this.#current?.redactor === redactor) return this.#current.stream.push(piece);
    // New secrets are known: text that the earlier redactor held back is redacted again.
    const held = this.end();
    this.#current = { redactor, stream: redactor.stream() };
    return this.#current.stream.push(held.length === 0 ? piece : Buffer.concat([held, piece]));
  }

  end(): Uint8Array {
    const held = this.#current?.stream.end() ?? new Uint8Array();
    this.#current = undefined;
    return held;
  }
}
