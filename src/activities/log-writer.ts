import type { LogStore } from './parts.js';

/** Written at a time, in bytes. */
const batchBytes = 64 * 1024;
/** Most attempts say a few lines, so most buffers stay as small as they begin. */
const firstBytes = 2 * 1024;

/** Longest time that a line is buffered, in ms: each write opens the file anew. */
const patienceMs = 500;

/** Writes lines to a log of the store, in their order. */
export interface LogWriter {
  /** The log is full: callers may skip building lines. */
  full(): boolean;
  line(entry: object): void;
  /** Settles when there is room for more, so that endless output does not pile up in memory. */
  room(): Promise<void>;
  /** Writes the rest. Returns the first error, if any. */
  close(): Promise<Error | undefined>;
}

export function openLogWriter(store: LogStore, name: string): LogWriter {
  // One buffer for all: buffers, and lines that wait, would be memory that only the collector gives back.
  const batch = new Batch();
  let waiting: string[] = [];
  let failed: Error | undefined;
  let full = false;
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const append = async (chunk: Uint8Array): Promise<void> => {
    if (full || chunk.length === 0) return;
    try {
      full = (await store.append(name, chunk)) === 'full';
    } catch (error) {
      failed ??= error instanceof Error ? error : new Error(String(error));
    }
  };
  const writeAll = async (): Promise<void> => {
    await append(batch.clear());
    for (let lines = waiting; lines.length > 0; lines = waiting) {
      waiting = [];
      for (const line of lines) {
        if (batch.take(line)) continue;
        await append(batch.clear());
        if (!batch.take(line)) await append(Buffer.from(line));
      }
      await append(batch.clear());
    }
    writing = undefined;
  };
  const start = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    return (writing ??= writeAll());
  };
  return {
    full: () => full,
    line(entry) {
      if (full) return;
      const line = `${plainJson({ t: new Date().toISOString(), ...entry })}\n`;
      // What is being written must stay as it is.
      if (writing !== undefined || waiting.length > 0 || !batch.take(line)) waiting.push(line);
      if (writing === undefined) timer ??= setTimeout(start, patienceMs);
    },
    async room() {
      while (waiting.length > 0 || batch.isHalfFull()) await start();
    },
    async close() {
      do await start();
      while (waiting.length > 0);
      return failed;
    },
  };
}

/** Lines as bytes, as many as fit. */
class Batch {
  #bytes = Buffer.allocUnsafeSlow(firstBytes);
  #length = 0;

  /** False when the line does not fit. */
  take(line: string): boolean {
    // A character takes three bytes at most.
    const most = line.length * 3;
    if (most > this.#bytes.length - this.#length) this.#grow();
    const room = this.#bytes.length - this.#length;
    if (most > room && Buffer.byteLength(line) > room) return false;
    this.#length += this.#bytes.write(line, this.#length);
    return true;
  }

  isHalfFull(): boolean {
    return this.#length > batchBytes / 2;
  }

  /** Allocated once, at full size, since later flushes read the first buffer. */
  #grow(): void {
    if (this.#bytes.length === batchBytes) return;
    const larger = Buffer.allocUnsafeSlow(batchBytes);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  /** What it held, to be used before the next line is taken. */
  clear(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return taken;
  }
}

/**
 * JSON leaves some control characters as they are that terminals obey, and marks that turn the direction of
 * text: here they are escaped.
 */
function plainJson(entry: object): string {
  return JSON.stringify(entry).replaceAll(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
