import { splitWords } from '../model/command-words.js';
import { matchesPattern } from './field-constraints.js';

/**
 * Whether a reference such as `exec:get app/token` matches a pattern of `secrets.allow`. Both are split as they are when
 * the reference is resolved, and compared word by word: `*` is any text within a word, except that it makes no option
 * (a leading hyphen) and no path that goes up.
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

/** Why a text is no pattern of references; undefined if it is. */
export function referencePatternFault(pattern: string): string | undefined {
  const words = wordsOf(pattern);
  if (words === undefined) return 'has a quote that is not closed, or ends in a backslash';
  if (pattern.startsWith('exec:') && words.length === 1) return 'names no program';
  return pattern.startsWith('vault:') && words.length !== 3
    ? 'is not vault:PATH#FIELD; write #* for any field'
    : undefined;
}

/** The same text for references that are resolved alike, such as an `exec:` with other blanks or quotes. */
export function canonicalReference(reference: string): string {
  return JSON.stringify(wordsOf(reference) ?? reference);
}

/** The scheme, then the words of a command, path and field of a Vault, or the name; undefined for an open quote. */
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
  // Also behind the `=` of an option, or within a list of paths.
  if (word.split(/[/=:,]/).includes('..')) return false;
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, String.raw`\$&`));
  return matchesPattern(parts.join(String.raw`\P{Cc}*`), word);
}
