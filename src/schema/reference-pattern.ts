import { splitWords } from '../model/command-words.js';
import { matchesPattern } from './field-constraints.js';

/**
 * Whether a reference such as `exec:get app/token` matches a pattern of `secrets.allow`. Both
 * are split into words as on resolution, and compared word by word. `*` matches any text within
 * a word, but never an option (a leading hyphen) or a path that goes up.
 */
export function matchesReference(pattern: string, reference: string): boolean {
  const allowed = wordsOf(pattern);
  const words = wordsOf(reference);
  return (
    allowed !== undefined &&
    words?.length === allowed.length &&
    allowed.every((word, index) => matchesWord(word, words[index] ?? ''))
  );
}

/** Why a text is not a valid pattern of references; undefined if it is. */
export function referencePatternFault(pattern: string): string | undefined {
  const words = wordsOf(pattern);
  if (words === undefined) return 'has an unclosed quote, or ends in a backslash';
  if (pattern.startsWith('exec:') && words.length === 1) return 'does not name a program';
  return pattern.startsWith('vault:') && words.length !== 3
    ? 'must be vault:PATH#FIELD; use #* for any field'
    : undefined;
}

/** The same text for equivalent references, such as `exec:` with different blanks or quotes. */
export function canonicalReference(reference: string): string {
  return JSON.stringify(wordsOf(reference) ?? reference);
}

/**
 * The scheme, then the words of a command, path and field of Vault, or the name; undefined for
 * an unclosed quote.
 */
function wordsOf(reference: string): readonly string[] | undefined {
  const [scheme = ''] = reference.split(':', 1);
  const rest = reference.slice(scheme.length + 1);
  if (scheme === 'vault') return [scheme, ...rest.split('#')];
  if (scheme !== 'exec') return [scheme, rest];
  try {
    return [scheme, ...splitWords(rest)];
  } catch {
    return undefined;
  }
}

function matchesWord(pattern: string, word: string): boolean {
  if (!pattern.includes('*')) return word === pattern;
  if (pattern.startsWith('*') && word.startsWith('-')) return false;
  // Also after the `=` of an option, or within a list of paths.
  if (word.split(/[/=:,]/).includes('..')) return false;
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, String.raw`\$&`));
  return matchesPattern(parts.join(String.raw`\P{Cc}*`), word);
}
