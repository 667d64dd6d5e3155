import { isUtf8 } from 'node:buffer';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { JsonObject } from '../model/json.js';
import { openLogWriter } from './log-writer.js';
import type { LogStore, Redactor } from './parts.js';
import { Tail } from './tail.js';

/**
 * A task's log in JSON lines: `{t, level, message}` for log entries and `{t, stream, text}` for
 * output, with `bytes` in base64 instead of `text` where that is not UTF-8.
 */
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
    printed[stream].tail.add(redacted);
    if (!writer.full()) write(stream, printed[stream].wholeCharacters(redacted));
  };
  const write = (stream: (typeof streams)[number], bytes: Buffer): void => {
    if (bytes.length === 0) return;
    writer.line(
      isUtf8(bytes) ? { stream, text: bytes.toString('utf8') } : { stream, bytes: bytes.toString('base64') },
    );
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
      for (const stream of streams) {
        keep(stream, printed[stream].end());
        write(stream, printed[stream].incompleteCharacter());
      }
      return writer.close();
    },
    flush: () => store.flush(name),
  };
}

/** One output stream of a task: state between two chunks. */
class PrintedStream {
  readonly tail = new Tail();
  /** The beginning of a character that was split between two pieces. */
  #begun: Buffer<ArrayBufferLike> = Buffer.alloc(0);
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

  /** The bytes, with what was left of the previous ones, up to the last whole character. */
  wholeCharacters(bytes: Uint8Array): Buffer {
    const all = Buffer.concat([this.#begun, bytes]);
    const end = endOfCharacters(all);
    this.#begun = Buffer.from(all.subarray(end));
    return all.subarray(0, end);
  }

  incompleteCharacter(): Buffer {
    const begun = this.#begun;
    this.#begun = Buffer.alloc(0);
    return begun;
  }

  end(): Uint8Array {
    const held = this.#current?.stream.end() ?? new Uint8Array();
    this.#current = undefined;
    return held;
  }
}

/** Where an unfinished last character begins; the end if there is none. */
function endOfCharacters(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes.at(-back) ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return width > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
