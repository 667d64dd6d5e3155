import type { LogStore } from './parts.js';

/** Written at a time, in bytes. */
const batchBytes = 128 * 1024;

/** Lines that may wait to be written, in characters. */
const maxWaiting = 256 * 1024;

/** Writes lines to a log of the store, in their order. */
export interface LogWriter {
  /** The log takes no more: lines need not be made. */
  full(): boolean;
  line(entry: object): void;
  /** Settles when there is room for more, so that endless output does not pile up in memory. */
  room(): Promise<void>;
  /** Writes what is left; the first error, if there was one. */
  close(): Promise<Error | undefined>;
}

export function openLogWriter(store: LogStore, name: string): LogWriter {
  let failed: Error | undefined;
  let full = false;
  let waiting: string[] = [];
  let length = 0;
  let writing: Promise<void> | undefined;

  const append = async (chunk: Uint8Array): Promise<void> => {
    if (full || chunk.length === 0) return;
    try {
      full = (await store.append(name, chunk)) === 'full';
    } catch (error) {
      failed ??= error instanceof Error ? error : new Error(String(error));
    }
  };
  const writeAll = async (): Promise<void> => {
    // One buffer for all: buffers by the thousand would be memory that only the collector gives back.
    const batch = new Batch();
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      length = 0;
      for (const line of lines) {
        if (batch.take(line)) continue;
        await append(batch.clear());
        if (!batch.take(line)) await append(Buffer.from(line));
      }
      await append(batch.clear());
    }
    writing = undefined;
  };
  const start = (): Promise<void> => (writing ??= writeAll());
  return {
    full: () => full,
    line(entry) {
      if (full) return;
      const line = `${plainJson({ t: new Date().toISOString(), ...entry })}\n`;
      waiting.push(line);
      length += line.length;
      if (writing === undefined) setImmediate(start);
    },
    async room() {
      while (length > maxWaiting) await start();
    },
    async close() {
      while (writing !== undefined || waiting.length > 0) await start();
      return failed;
    },
  };
}

/** Lines as bytes, as many as fit. */
class Batch {
  readonly #bytes = Buffer.allocUnsafeSlow(batchBytes);
  #length = 0;

  /** False when the line does not fit. */
  take(line: string): boolean {
    // A character takes three bytes at most.
    if (line.length * 3 > batchBytes - this.#length && Buffer.byteLength(line) > batchBytes - this.#length) return false;
    this.#length += this.#bytes.write(line, this.#length);
    return true;
  }

  clear(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return taken;
  }
}

/** JSON leaves some control characters as they are that terminals obey, and marks that turn the direction of text: here they are escaped. */
function plainJson(entry: object): string {
  return JSON.stringify(entry).replaceAll(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
