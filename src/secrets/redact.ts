import { formsOf } from './encodings.js';

/** Takes known secrets out of what people or files get to see. */
export interface Redactor {
  redact(text: string): string;
  /** For output that comes in pieces: a secret that is split between two of them is found too. */
  stream(): RedactingStream;
  /** Secrets that are not looked for, by their place in the list, and why. */
  readonly skipped: readonly { readonly index: number; readonly reason: string }[];
}

/** Gives out what can be no part of a secret any more, and holds back the rest. Bytes that are no text pass unchanged. */
export interface RedactingStream {
  push(chunk: Uint8Array): Buffer;
  /** What was held back; to be called after the last chunk. */
  end(): Buffer;
}

const placeholder = '(secret)';

const shortest = 6;

/** Makes a redactor for these secrets in all the forms they usually take (see `formsOf`). */
export function createRedactor(secrets: readonly string[]): Redactor {
  const skipped = secrets.flatMap((secret, index) => (secret.length >= shortest ? [] : [{
    index, reason: `it has fewer than ${shortest} characters, and taking those out everywhere would garble the output`,
  }]));
  const forms = secrets.filter((secret) => secret.length >= shortest).flatMap(formsOf).filter((form) => form.length >= shortest);
  const text = new Matcher(forms);
  // In streams bytes stand for themselves, one character each, so that chunks may end within a character.
  const bytes = new Matcher(forms.map((form) => Buffer.from(form, 'utf8').toString('latin1')));
  return { redact: (whole) => text.replaceAll(whole), stream: () => new HeldStream(bytes), skipped };
}

class HeldStream implements RedactingStream {
  readonly #matcher: Matcher;
  #held = '';

  constructor(matcher: Matcher) {
    this.#matcher = matcher;
  }

  push(chunk: Uint8Array): Buffer {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const text = this.#held + bytes.toString('latin1');
    const { done, rest } = this.#matcher.replaceSettled(text);
    const unchanged = this.#held === '' && rest === '' && done === text;
    this.#held = rest;
    // Most output holds no secret: a copy of all of it would be memory that only the collector gives back.
    return unchanged ? bytes : Buffer.from(done, 'latin1');
  }

  end(): Buffer {
    const last = this.#matcher.replaceAll(this.#held);
    this.#held = '';
    return Buffer.from(last, 'latin1');
  }
}

/**
 * Finds patterns from left to right, of several at one place the longest. Places are found by the beginnings alone: one
 * expression over all patterns of a private key would take a hundred times as long.
 */
class Matcher {
  /** Patterns by how they begin, the longest first. */
  readonly #byStart: ReadonlyMap<string, readonly string[]>;
  readonly #anyStart: RegExp | undefined;
  readonly #longest: number;

  constructor(patterns: readonly string[]) {
    const sorted = [...new Set(patterns)].toSorted((a, b) => b.length - a.length);
    const byStart = new Map<string, string[]>();
    for (const pattern of sorted) {
      const start = pattern.slice(0, shortest);
      byStart.set(start, [...(byStart.get(start) ?? []), pattern]);
    }
    this.#byStart = byStart;
    this.#anyStart = sorted.length === 0 ? undefined : new RegExp([...byStart.keys()].map(quote).join('|'), 'g');
    this.#longest = sorted[0]?.length ?? 0;
  }

  replaceAll(text: string): string {
    return this.#replace(text, () => text.length);
  }

  /** Replaces up to where a pattern may have begun that ends beyond the text. */
  replaceSettled(text: string): { readonly done: string; readonly rest: string } {
    let open = 0;
    const done = this.#replace(text, (from) => {
      open = this.#openAt(text, from);
      return open;
    });
    return { done, rest: text.slice(open) };
  }

  /** `limitOf` tells how far the text is settled when all before its argument is done; a match beyond waits. */
  #replace(text: string, limitOf: (from: number) => number): string {
    let done = '';
    let from = 0;
    let limit = limitOf(from);
    for (let match = this.#find(text, from); match !== undefined && match.at < limit; match = this.#find(text, from)) {
      done += text.slice(from, match.at) + placeholder;
      from = match.end;
      limit = limitOf(from);
    }
    return done + text.slice(from, limit);
  }

  #find(text: string, from: number): { readonly at: number; readonly end: number } | undefined {
    if (this.#anyStart === undefined) return undefined;
    for (let next = from; ; next += 1) {
      this.#anyStart.lastIndex = next;
      const start = this.#anyStart.exec(text);
      if (start === null) return undefined;
      next = start.index;
      const pattern = this.#byStart.get(start[0])?.find((candidate) => text.startsWith(candidate, start.index));
      if (pattern !== undefined) return { at: start.index, end: start.index + pattern.length };
    }
  }

  /** Where the first unfinished pattern begins, at `from` or after; the end of the text when there is none. */
  #openAt(text: string, from: number): number {
    for (let at = Math.max(from, text.length - this.#longest + 1); at < text.length; at += 1) {
      if (this.#isOpen(text, at)) return at;
    }
    return text.length;
  }

  #isOpen(text: string, at: number): boolean {
    const start = text.slice(at, at + shortest);
    if (start.length < shortest) return [...this.#byStart.keys()].some((known) => known.startsWith(start));
    const length = text.length - at;
    return this.#byStart.get(start)?.some((pattern) => pattern.length > length && pattern.startsWith(text.slice(at))) ?? false;
  }
}

function quote(pattern: string): string {
  return pattern.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
