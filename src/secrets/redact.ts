import { Automaton } from './automaton.js';
import { formsOf } from './encodings.js';

/** Removes known secrets from output to users and files. */
export interface Redactor {
  redact(text: string): string;
  /** For output in chunks: also finds secrets that are split between chunks. */
  stream(): RedactingStream;
  /** Secrets that are not redacted, by index, and the reasons. */
  readonly skipped: readonly { readonly index: number; readonly reason: string }[];
}

/**
 * Emits bytes that can no longer be part of a secret, and holds back the rest. Binary data passes unchanged.
 */
interface RedactingStream {
  push(chunk: Uint8Array): Buffer;
  /** Returns the bytes held back; called after the last chunk. */
  end(): Buffer;
  /** Search steps and copied bytes so far; linear in the input for all secrets and chunk sizes. */
  readonly steps: number;
}

const placeholder = Buffer.from('(secret)');

const shortest = 6;

/**
 * Creates a redactor for secrets in all their forms (see `formsOf`). Overlapping occurrences become one
 * placeholder. Takes linear time in the length of the text.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const skipped = secrets.flatMap((secret, index) =>
    secret.length >= shortest
      ? []
      : [
          {
            index,
            reason: `it has fewer than ${shortest} characters, and redacting it everywhere would garble the output`,
          },
        ],
  );
  const forms = secrets
    .filter((secret) => secret.length >= shortest)
    .flatMap(formsOf)
    .filter((form) => form.length >= shortest);
  const automaton = new Automaton([...new Set(forms)].map((form) => Buffer.from(form, 'utf8')));
  return { redact: (text) => redactText(text, automaton), stream: () => new HeldStream(automaton), skipped };
}

/** Maximum number of redactors cached by {@link createRedactors}. */
const keptRedactors = 50;

/** Creates redactors, and caches the most recently used: tasks of one account share their secrets. */
export function createRedactors(): (secrets: readonly string[]) => Redactor {
  const kept = new Map<string, Redactor>();
  return (secrets) => {
    const key = JSON.stringify(secrets);
    const redactor = kept.get(key) ?? createRedactor(secrets);
    kept.delete(key);
    kept.set(key, redactor);
    if (kept.size > keptRedactors) kept.delete(kept.keys().next().value ?? '');
    return redactor;
  };
}

/** An unpaired surrogate has no UTF-8 form and cannot be part of a secret: it passes unchanged. */
function redactText(text: string, automaton: Automaton): string {
  return text
    .split(/(\p{Surrogate})/u)
    .map((part, index) => {
      if (index % 2 === 1) return part;
      const stream = new HeldStream(automaton);
      return Buffer.concat([stream.push(Buffer.from(part, 'utf8')), stream.end()]).toString('utf8');
    })
    .join('');
}

/** A range that secrets cover, in byte positions of the whole stream. */
interface Run {
  from: number;
  to: number;
}

class HeldStream implements RedactingStream {
  readonly #automaton: Automaton;
  readonly #held = new HeldBytes();
  #searchSteps = 0;
  #state = 0;
  #read = 0;
  #shown = 0;
  /** Ranges that secrets cover in the bytes that are not yet shown, in order. */
  #runs: Run[] = [];

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
  }

  get steps(): number {
    return this.#searchSteps + this.#held.copied;
  }

  push(chunk: Uint8Array): Buffer {
    const { state, steps } = this.#automaton.read(chunk, this.#state, (end, length) =>
      this.#cover(this.#read + end - length, this.#read + end),
    );
    this.#state = state;
    this.#read += chunk.length;
    this.#searchSteps += steps;
    const settled = this.#read - this.#automaton.depthOf(state);
    const last = this.#runs.at(-1);
    // Covered bytes are hidden in any case, so they can be processed at once.
    const isCovered = last !== undefined && last.to === this.#read && last.from <= settled;
    const limit = isCovered ? this.#read : Math.max(settled, this.#shown);
    const isUnchanged = this.#held.length === 0 && this.#runs.length === 0 && limit === this.#read;
    if (!isUnchanged) this.#held.append(chunk);
    // Most output contains no secret: copying all of it would create garbage.
    if (isUnchanged) this.#shown = limit;
    return isUnchanged ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : this.#show(limit);
  }

  end(): Buffer {
    return this.#show(this.#read);
  }

  /** Adds a range and joins the ranges that it overlaps. Ranges are added in the order of their ends. */
  #cover(start: number, to: number): void {
    let from = start;
    for (let last = this.#runs.at(-1); last !== undefined && last.to > from; last = this.#runs.at(-1)) {
      from = Math.min(from, last.from);
      this.#runs.pop();
    }
    this.#runs.push({ from, to });
  }

  #show(limit: number): Buffer {
    const parts: Buffer[] = [];
    let used = 0;
    for (const run of this.#runs) {
      if (run.from >= limit) break;
      if (run.from > this.#shown) parts.push(this.#held.take(run.from - this.#shown));
      // A range that began in an earlier chunk already has its placeholder.
      if (run.from >= this.#shown) parts.push(placeholder);
      const to = Math.min(run.to, limit);
      this.#held.take(to - Math.max(run.from, this.#shown));
      this.#shown = to;
      if (run.to <= limit) used += 1;
    }
    this.#runs.splice(0, used);
    if (limit > this.#shown) parts.push(this.#held.take(limit - this.#shown));
    this.#shown = limit;
    return Buffer.concat(parts);
  }
}

/**
 * A buffer of held bytes. Appending and taking take linear time in the bytes concerned, not in those held.
 */
class HeldBytes {
  copied = 0;
  #bytes = Buffer.alloc(0);
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#to - this.#from;
  }

  append(chunk: Uint8Array): void {
    if (this.#to + chunk.length > this.#bytes.length) {
      const larger = Buffer.alloc(2 * (this.length + chunk.length));
      this.copied += this.#bytes.copy(larger, 0, this.#from, this.#to);
      [this.#bytes, this.#from, this.#to] = [larger, 0, this.length];
    }
    this.#bytes.set(chunk, this.#to);
    this.#to += chunk.length;
    this.copied += chunk.length;
  }

  /** The next call of `append` may overwrite the returned buffer. */
  take(count: number): Buffer {
    this.#from += count;
    return this.#bytes.subarray(this.#from - count, this.#from);
  }
}
