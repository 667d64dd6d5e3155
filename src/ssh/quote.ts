/**
 * Quotes words for a POSIX shell, which reads back exactly these words.
 * @throws RangeError for a NUL, which no argument can contain.
 */
export function quoteWords(words: readonly string[]): string {
  return words.map(quoteWord).join(' ');
}

/** One word; see {@link quoteWords}. */
export function quoteWord(word: string): string {
  if (word.includes('\0')) throw new RangeError('a word for the shell cannot contain a NUL character');
  return /^[A-Za-z0-9_/.:@%+-]+$/.test(word) ? word : `'${word.replaceAll(`'`, `'\\''`)}'`;
}
