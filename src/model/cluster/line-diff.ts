/** A line of a comparison of two texts. */
export interface DiffLine {
  readonly sign: '+' | '-' | ' ';
  readonly text: string;
}

/** Unchanged lines shown around a change. */
const contextLines = 2;
/** Longer texts are compared without looking for lines that they share: the time grows with the square. */
const maxLines = 2_000;

/** What changed between two texts: removed and added lines, with a few unchanged ones around them. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const start = commonStart(before, after);
  const end = commonStart(before.slice(start).toReversed(), after.slice(start).toReversed());
  const middle = compare(before.slice(start, before.length - end), after.slice(start, after.length - end));
  const same = (text: string): DiffLine => ({ sign: ' ', text });
  return nearChanges([
    ...before.slice(0, start).map(same),
    ...middle,
    ...before.slice(before.length - end).map(same),
  ]);
}

function commonStart(one: readonly string[], other: readonly string[]): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) if (one[index] !== other[index]) return index;
  return length;
}

/** Removes and adds as few lines as possible (longest common subsequence). */
function compare(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const removed = before.map((text): DiffLine => ({ sign: '-', text }));
  const added = after.map((text): DiffLine => ({ sign: '+', text }));
  if (before.length > maxLines || after.length > maxLines) return [...removed, ...added];
  const shared = sharedFrom(before, after);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    const text = before[i] ?? '';
    if (text === after[j]) {
      lines.push({ sign: ' ', text });
      [i, j] = [i + 1, j + 1];
    } else if ((shared[i + 1]?.[j] ?? 0) >= (shared[i]?.[j + 1] ?? 0)) {
      lines.push({ sign: '-', text });
      i += 1;
    } else {
      lines.push({ sign: '+', text: after[j] ?? '' });
      j += 1;
    }
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
}

/** How many lines the texts share from each pair of lines on. */
function sharedFrom(before: readonly string[], after: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: before.length + 1 }, () =>
    Array.from({ length: after.length + 1 }, () => 0),
  );
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const row = table[i] ?? [];
    const below = table[i + 1] ?? [];
    for (let j = after.length - 1; j >= 0; j -= 1)
      row[j] = before[i] === after[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
  }
  return table;
}

function nearChanges(lines: readonly DiffLine[]): readonly DiffLine[] {
  const shown = new Set<number>();
  lines.forEach(({ sign }, index) => {
    if (sign === ' ') return;
    for (let near = index - contextLines; near <= index + contextLines; near += 1) shown.add(near);
  });
  const last = lines.findLastIndex(({ sign }) => sign !== ' ');
  return lines.flatMap((line, index) => {
    if (shown.has(index)) return [line];
    return shown.has(index - 1) && index < last ? [{ sign: ' ' as const, text: '...' }] : [];
  });
}
