import pLimit from 'p-limit';
import type { LogSource } from './find-logs.js';

/** One line of a task's log. */
export interface LogEntry {
  /** RFC 3339. */
  readonly t: string;
  /** `debug`, `info`, `warn` or `error`; absent for output of scripts. */
  readonly level?: string;
  readonly message?: string;
  readonly attributes?: object;
  /** Of what a script printed. */
  readonly stream?: 'stdout' | 'stderr';
  readonly text?: string;
  /** The same in base64 if it is not UTF-8: `text` shows some bytes as U+FFFD. */
  readonly bytes?: string;
}

const chunkBytes = 64 * 1024;
const readsAtOnce = 16;

/** Reads a log in pieces, and continues when more is written. Keeps no file open. */
export class LogReader {
  source: LogSource;
  #offset = 0;
  #rest: Buffer = Buffer.alloc(0);
  #entries: LogEntry[] = [];
  #last = '';

  constructor(source: LogSource) {
    this.source = source;
  }

  /** The next entry, without consuming it; undefined at the end. */
  async peek(): Promise<LogEntry | undefined> {
    while (this.#isIncomplete() && (await this.#fill())) {
      /* A chunk may hold no whole entry, or a part of a printed line. */
    }
    return this.#entries[0];
  }

  #isIncomplete(): boolean {
    const [first, second] = this.#entries;
    return first === undefined || (second === undefined && isPiece(first));
  }

  /** Leaves out what was written before it was found, unless it was read. */
  skip(): void {
    this.#offset ||= this.source.stored.size;
  }

  take(): void {
    this.#entries.shift();
  }

  async #fill(): Promise<boolean> {
    const chunk = await this.source.stored.read({ offset: this.#offset, length: chunkBytes });
    if (chunk.length === 0) return false;
    this.#offset += chunk.length;
    const bytes = Buffer.concat([this.#rest, chunk]);
    const end = bytes.lastIndexOf(0x0a) + 1;
    this.#rest = bytes.subarray(end);
    const lines = bytes
      .toString('utf8', 0, end)
      .split('\n')
      .filter((line) => line !== '');
    this.#entries = joinPieces([...this.#entries, ...lines.map((line) => this.#parse(line))]);
    return true;
  }

  /**
   * A line that is not an entry, such as the notice of a truncated log, gets the time of the previous entry.
   */
  #parse(line: string): LogEntry {
    try {
      const entry = JSON.parse(line) as Partial<LogEntry> | null;
      if (typeof entry?.t === 'string') {
        this.#last = entry.t;
        const { t, bytes } = entry;
        return typeof bytes === 'string'
          ? { ...entry, t, text: Buffer.from(bytes, 'base64').toString('utf8') }
          : { ...entry, t };
      }
    } catch {
      /* Shown as it is. */
    }
    return { t: this.#last, level: 'info', message: line };
  }
}

/** How much of a printed line is joined, in characters. */
const longestJoined = 64 * 1024;

/** Printed text arrives as the connection delivers it, which may be in the middle of a line. */
function isPiece({ text, bytes }: LogEntry): boolean {
  return text !== undefined && bytes === undefined && !text.endsWith('\n') && text.length < longestJoined;
}

function joinPieces(entries: readonly LogEntry[]): LogEntry[] {
  const joined: LogEntry[] = [];
  for (const entry of entries) {
    const last = joined.at(-1);
    if (last !== undefined && isPiece(last) && last.stream === entry.stream && entry.bytes === undefined)
      joined[joined.length - 1] = { ...last, text: `${last.text}${entry.text ?? ''}` };
    else joined.push(entry);
  }
  return joined;
}

/**
 * The last lines, one per entry, in the order of their times. Logs that were not written since are only
 * skipped.
 * @param known the last lines of later days
 */
export async function readLastLines(
  readers: readonly LogReader[],
  count: number,
  isShown: (entry: LogEntry) => boolean,
  known: readonly PlacedEntry[] = [],
): Promise<readonly PlacedEntry[]> {
  const changedAt = ({ source }: LogReader): number => source.stored.changedAt;
  let last = known;
  for (const reader of readers.toSorted((a, b) => changedAt(b) - changedAt(a))) {
    const oldest = last.length < count ? undefined : last[0]?.entry.t;
    if (oldest !== undefined && changedAt(reader) < Date.parse(oldest)) {
      reader.skip();
      continue;
    }
    const own: PlacedEntry[] = [];
    for await (const { source, entry } of mergeLogs([reader])) {
      if (!isShown(entry)) continue;
      own.push(...linesOf(entry).map((line) => ({ source, entry: line })));
      if (own.length > 2 * count) own.splice(0, own.length - count);
    }
    last = [...last, ...own].toSorted((a, b) => compareTimes(a.entry, b.entry)).slice(-count);
  }
  return last;
}

function linesOf(entry: LogEntry): readonly LogEntry[] {
  const { text, bytes } = entry;
  if (text === undefined || bytes !== undefined) return [entry];
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => ({ ...entry, text: `${line}\n` }));
}

/** An entry and its log. */
export interface PlacedEntry {
  readonly source: LogSource;
  readonly entry: LogEntry;
}

/** The entries of several logs in the order of their times, as far as they are written. */
export async function* mergeLogs(readers: readonly LogReader[]): AsyncGenerator<PlacedEntry> {
  const limit = pLimit(readsAtOnce);
  const peeked = await Promise.all(
    readers.map((reader) => limit(async () => ({ reader, entry: await reader.peek() }))),
  );
  const heads = peeked.filter((head): head is Head => head.entry !== undefined);
  const waiting = heads.toSorted((a, b) => compareTimes(a.entry, b.entry));
  // Only logs whose times overlap are compared with each other.
  const active: Head[] = [];
  for (;;) {
    let first = earliest(active);
    for (
      let next = waiting[0];
      next !== undefined && (first === undefined || next.entry.t <= first.entry.t);
      next = waiting[0]
    ) {
      waiting.shift();
      active.push(next);
      first = earliest(active);
    }
    if (first === undefined) return;
    yield { source: first.reader.source, entry: first.entry };
    first.reader.take();
    const entry = await first.reader.peek();
    if (entry === undefined) active.splice(active.indexOf(first), 1);
    else first.entry = entry;
  }
}

interface Head {
  readonly reader: LogReader;
  entry: LogEntry;
}

function earliest(heads: readonly Head[]): Head | undefined {
  return heads.reduce<Head | undefined>(
    (best, head) => (best === undefined || head.entry.t < best.entry.t ? head : best),
    undefined,
  );
}

function compareTimes(a: LogEntry, b: LogEntry): number {
  return a.t < b.t ? -1 : Number(a.t > b.t);
}
