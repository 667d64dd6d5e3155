import { distance } from 'fastest-levenshtein';

/** `Did you mean "type"?`, or the list of known words if there are at most 20; otherwise undefined. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  const near = closest(word, known);
  if (near !== undefined) return `Did you mean "${near}"?`;
  if (known.length === 0 || known.length > 20) return undefined;
  return `Known: ${known.join(', ')}.`;
}

/** The known word with the smallest edit distance, if it is small for the length of the word. */
export function closest(word: string, known: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const [best] = known
    .slice(0, 1_000)
    .map((candidate) => ({ candidate, edits: editsBetween(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ edits }) => edits <= Math.max(1, Math.floor(word.length / 3)))
    .toSorted((one, other) => one.edits - other.edits);
  return best?.candidate;
}

/** Two swapped letters count as one edit, not as two replacements. */
function editsBetween(word: string, candidate: string): number {
  const edits = distance(word, candidate);
  return edits === 2 && lettersOf(word) === lettersOf(candidate) ? 1 : edits;
}

function lettersOf(word: string): string {
  return Array.from(word).toSorted().join('');
}
