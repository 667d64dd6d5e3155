import { isJsonObject, type Json } from '../json.js';

/**
 * Expressions in texts of a cluster file: `${{ var.port }}`, or `${{ word(node.ipaddress) }}`.
 * Shells, which know `${name}`, have no such form. `$${{` stands for the text `${{`.
 */
export interface Expression {
  /** As it is written, braces included. */
  readonly written: string;
  /** `['nodes', 'db-1', 'ipaddress']`; the first word is the kind of reference. */
  readonly words: readonly string[];
  /** The value is refused unless it is a word (`isWord`), which ends no text that it stands in. */
  readonly mustBeWord?: true;
}

/** An expression that cannot be read, with the reason. */
export interface BrokenExpression {
  readonly written: string;
  readonly wrong: string;
}

/** A text in parts: literal text without escapes, and expressions. */
export type TextPart = string | Expression | BrokenExpression;

const opening = '${{';
const escapedOpening = '$${{';

/** The text as it is written where expressions are read, so that it holds none. */
export function escapeText(text: string): string {
  return text.replaceAll(opening, () => escapedOpening);
}

export function mayHoldExpressions(text: string): boolean {
  return text.includes(opening);
}

export function splitText(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let literal = '';
  let from = 0;
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, from)) {
    if (at > from && text[at - 1] === '$') {
      literal += text.slice(from, at - 1) + opening;
      from = at + opening.length;
      continue;
    }
    literal += text.slice(from, at);
    if (literal !== '') parts.push(literal);
    literal = '';
    const written = writtenAt(text, at);
    parts.push(readExpression(written));
    from = at + written.length;
  }
  const rest = literal + text.slice(from);
  return rest === '' && parts.length > 0 ? parts : [...parts, rest];
}

/** The whole text is one expression, whose value keeps its type. */
export function isOneExpression(value: Json): boolean {
  if (typeof value !== 'string' || !mayHoldExpressions(value)) return false;
  const parts = splitText(value);
  return parts.length === 1 && isExpression(parts[0]);
}

export function isExpression(part: TextPart | undefined): part is Expression {
  return typeof part === 'object' && 'words' in part;
}

export function isBroken(part: TextPart): part is BrokenExpression {
  return typeof part === 'object' && 'wrong' in part;
}

/** The names that expressions in a value refer to by `var`. */
export function variablesIn(value: Json): readonly string[] {
  const names = new Set<string>();
  for (const { text } of textsIn(value)) {
    for (const part of splitText(text)) {
      const [root, name] = isExpression(part) ? part.words : [];
      if (root === 'var' && name !== undefined) names.add(name);
    }
  }
  return [...names].toSorted();
}

export interface PlacedText {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

/** All texts in a value that may hold expressions, with their places. */
export function textsIn(value: Json, path: PlacedText['path'] = []): readonly PlacedText[] {
  if (typeof value === 'string') return mayHoldExpressions(value) ? [{ path, text: value }] : [];
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => textsIn(item, [...path, index]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, [...path, key]));
}

/** An expression ends on its line; one that does not is cut there, for the message. */
function writtenAt(text: string, at: number): string {
  const line = /^[^\n]*/.exec(text.slice(at))?.[0] ?? '';
  const end = line.indexOf('}}');
  return end < 0 ? line.slice(0, 60).trimEnd() : line.slice(0, end + 2);
}

const name = String.raw`[A-Za-z_][\w-]*(?:\.[\w-]+)*`;
const form = new RegExp(String.raw`^\$\{\{\s*(?:(${name})|word\(\s*(${name})\s*\))\s*\}\}$`);

function readExpression(written: string): Expression | BrokenExpression {
  if (!written.endsWith('}}')) return { written, wrong: 'is not closed on its line by }}' };
  const [, plain, word] = form.exec(written) ?? [];
  if (plain !== undefined) return { written, words: plain.split('.') };
  if (word !== undefined) return { written, words: word.split('.'), mustBeWord: true };
  return { written, wrong: 'must be a name such as var.port or nodes.db-1.ipaddress, or word(NAME)' };
}
