import type { LogStore } from './parts.js';

/** Written at a time, in bytes, once so much has come. */
const batchBytes = 16 * 1024;

/** Lines that may wait to be written, in bytes. */
const maxUnwritten = 1024 * 1024;

/** Writes lines to a log of the store, one batch after the other. */
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
  let pending = '';
  let unwritten = 0;
  let writing: Promise<void> = Promise.resolve();

  const write = async (chunk: Buffer): Promise<void> => {
    try {
      if (!full) full = (await store.append(name, chunk)) === 'full';
    } catch (error) {
      failed ??= error instanceof Error ? error : new Error(String(error));
    } finally {
      unwritten -= chunk.length;
    }
  };
  const flush = (): void => {
    if (pending === '') return;
    const chunk = Buffer.from(pending);
    pending = '';
    unwritten += chunk.length;
    writing = writing.then(() => write(chunk));
  };
  return {
    full: () => full,
    line(entry) {
      if (full) return;
      pending += `${plainJson({ t: new Date().toISOString(), ...entry })}\n`;
      if (pending.length > batchBytes) flush();
      else setImmediate(flush);
    },
    async room() {
      if (unwritten > maxUnwritten) await writing;
    },
    async close() {
      flush();
      await writing;
      return failed;
    },
  };
}

/** JSON leaves some control characters as they are that terminals obey, and marks that turn the direction of text: here they are escaped. */
function plainJson(entry: object): string {
  return JSON.stringify(entry).replaceAll(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
