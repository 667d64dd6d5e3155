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
    const text = this.#held + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    const { done, rest } = this.#matcher.replaceSettled(text);
    this.#held = rest;
    return Buffer.from(done, 'latin1');
  }

  end(): Buffer {
    const last = this.#matcher.replaceAll(this.#held);
    this.#held = '';
    return Buffer.from(last, 'latin1');
  }
}

/** Finds patterns from left to right, of several at one place the longest. */
class Matcher {
  readonly #patterns: readonly string[];
  readonly #starts: ReadonlySet<string>;
  readonly #longest: number;
  readonly #expression: RegExp | undefined;

  constructor(patterns: readonly string[]) {
    this.#patterns = [...new Set(patterns)].toSorted((a, b) => b.length - a.length);
    this.#starts = new Set(this.#patterns.map((pattern) => pattern.charAt(0)));
    this.#longest = this.#patterns[0]?.length ?? 0;
    this.#expression = this.#longest === 0 ? undefined : new RegExp(this.#patterns.map(quote).join('|'), 'g');
  }

  replaceAll(text: string): string {
    return this.#expression === undefined ? text : text.replace(this.#expression, placeholder);
  }

  /** Replaces up to where a pattern may have begun that ends beyond the text. */
  replaceSettled(text: string): { readonly done: string; readonly rest: string } {
    let done = '';
    let from = 0;
    for (const match of this.#expression === undefined ? [] : text.matchAll(this.#expression)) {
      // A longer pattern may be about to match here or before.
      if (match.index >= this.#openAt(text, from)) break;
      done += text.slice(from, match.index) + placeholder;
      from = match.index + match[0].length;
    }
    const open = this.#openAt(text, from);
    return { done: done + text.slice(from, open), rest: text.slice(open) };
  }

  /** Where the first unfinished pattern begins, at `from` or after; the end of the text when there is none. */
  #openAt(text: string, from: number): number {
    for (let at = Math.max(from, text.length - this.#longest + 1); at < text.length; at += 1) {
      if (!this.#starts.has(text.charAt(at))) continue;
      const tail = text.slice(at);
      if (this.#patterns.some((pattern) => pattern.length > tail.length && pattern.startsWith(tail))) return at;
    }
    return text.length;
  }
}

function quote(pattern: string): string {
  return pattern.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
