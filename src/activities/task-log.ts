import { StringDecoder } from 'node:string_decoder';
import type { JsonObject } from '../model/json.js';
import type { LogStore, Redactor } from './parts.js';

/** Longest tail of each stream that a result or a failure carries, in bytes. */
const tailBytes = 2 * 1024;

/** Output that may wait to be written, in bytes. */
const maxUnwritten = 1024 * 1024;

/** A task's log: JSON lines, `{t, level, message}` for what was logged and `{t, stream, text}` for what was printed. */
export interface TaskLog {
  readonly name: string;
  note(level: string, message: string, attributes?: JsonObject): void;
  /** Settles when there is room for more, so that endless output does not pile up in memory. */
  print(stream: 'stdout' | 'stderr', chunk: Buffer): Promise<void>;
  /** The last output of each stream, for people. */
  tails(): { readonly stdout?: string; readonly stderr?: string };
  /** Writes what is left. A log that could not be written does not fail its task: the first error is only returned. */
  close(): Promise<Error | undefined>;
}

type Stream = 'stdout' | 'stderr';

export function openTaskLog(store: LogStore, name: string, redactor: () => Redactor): TaskLog {
  const tails: Record<Stream, string> = { stdout: '', stderr: '' };
  const decoders: Partial<Record<Stream, StringDecoder>> = {};
  const streams: Partial<Record<Stream, ReturnType<Redactor['stream']>>> = {};
  let failed: Error | undefined;
  let pending = '';
  let unwritten = 0;
  let writing: Promise<void> = Promise.resolve();

  const flush = (): void => {
    if (pending === '') return;
    const chunk = Buffer.from(pending);
    pending = '';
    unwritten += chunk.length;
    writing = writing.then(() => store.append(name, chunk)).catch((error: unknown) => {
      failed ??= error instanceof Error ? error : new Error(String(error));
    }).finally(() => {
      unwritten -= chunk.length;
    });
  };
  const line = (entry: object): void => {
    pending += `${JSON.stringify({ t: new Date().toISOString(), ...entry })}\n`;
    if (pending.length > 16 * 1024) flush();
    else setImmediate(flush);
  };
  const keep = (stream: Stream, chunk: Uint8Array): void => {
    if (chunk.length === 0) return;
    // A character may be split between two chunks.
    const text = (decoders[stream] ??= new StringDecoder('utf8')).write(Buffer.from(chunk));
    tails[stream] = (tails[stream] + text).slice(-tailBytes);
    line({ stream, text });
  };
  return {
    name,
    note: (level, message, attributes) => line({ level, message, ...(attributes === undefined ? {} : { attributes }) }),
    async print(stream, chunk) {
      keep(stream, (streams[stream] ??= redactor().stream()).push(chunk));
      if (unwritten > maxUnwritten) await writing;
    },
    tails: () => ({
      ...(tails.stdout === '' ? {} : { stdout: tails.stdout }), ...(tails.stderr === '' ? {} : { stderr: tails.stderr }),
    }),
    async close() {
      for (const [name_, stream] of Object.entries(streams)) keep(name_ as Stream, stream.end());
      flush();
      await writing;
      return failed;
    },
  };
}
