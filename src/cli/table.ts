import stringWidth from 'string-width';
import { cleanLine } from './clean-text.js';

/** Rows in columns as wide as their widest cell; cells are cleaned. The last column is not padded. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const cells = [head, ...rows].map((row) => row.map(cleanLine));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => stringWidth(row[column] ?? ''))));
  return cells.map((row) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** Cuts to a display width, with an ellipsis. */
export function cutTo(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  const characters = Array.from(text);
  while (characters.length > 0 && stringWidth(characters.join('')) > width - 1) characters.pop();
  return width < 1 ? '' : `${characters.join('')}…`;
}

/** Breaks a text between its words into lines of at most a width; a longer word has a line of its own. */
export function wrapTo(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && stringWidth(line) + 1 + stringWidth(word) <= width)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}
