import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export const operations = [
  'create',
  'describe',
  'list',
  'delete',
  'power-on',
  'power-off',
  'kill',
  'load',
  'capture',
  'upload',
  'delete-image',
] as const;
export type Operation = (typeof operations)[number];

/** An accepted call: the service answered it, or did it and its answer was lost on purpose. */
export interface JournalEntry {
  readonly seq: number;
  /** RFC 3339. */
  readonly at: string;
  readonly operation: Operation;
  readonly id?: string;
  readonly hostname?: string;
  readonly key?: string;
  readonly token?: string;
  readonly flavor?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** A repeated CREATE or DELETE, which changed nothing. */
  readonly repeated?: true;
}

/** All accepted calls since the folder was made, as JSON lines that are only ever added to. */
export class Journal {
  readonly #path: string;
  readonly #file: number;
  #seq = 0;

  constructor(dataFolder: string) {
    this.#path = join(dataFolder, 'journal.jsonl');
    const torn = existsSync(this.#path) && !endsWithNewline(this.#path);
    this.#file = openSync(this.#path, 'a', 0o600);
    if (torn) writeSync(this.#file, '\n');
    this.#seq = this.read({ after: 0, limit: Number.POSITIVE_INFINITY }).reduce(
      (last, entry) => Math.max(last, entry.seq),
      0,
    );
  }

  append(entry: Omit<JournalEntry, 'seq' | 'at'>): void {
    this.#seq += 1;
    writeSync(this.#file, `${JSON.stringify({ seq: this.#seq, at: new Date().toISOString(), ...entry })}\n`);
  }

  /** Entries after a sequence number, oldest first, of the given operations or of all. */
  read(query: {
    readonly after: number;
    readonly limit: number;
    readonly operations?: readonly Operation[];
  }): readonly JournalEntry[] {
    const found: JournalEntry[] = [];
    for (const line of readFileSync(this.#path, 'utf8').split('\n')) {
      const entry = parseLine(line);
      if (entry === undefined || entry.seq <= query.after) continue;
      if (query.operations !== undefined && !query.operations.includes(entry.operation)) continue;
      found.push(entry);
      if (found.length >= query.limit) break;
    }
    return found;
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** A line cut by a power loss is left out; everything else in the file was written above. */
function parseLine(line: string): JournalEntry | undefined {
  if (line === '') return undefined;
  try {
    return JSON.parse(line) as JournalEntry;
  } catch {
    return undefined;
  }
}

function endsWithNewline(path: string): boolean {
  const text = readFileSync(path);
  return text.length === 0 || text.at(-1) === 0x0a;
}
