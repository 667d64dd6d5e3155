/** A table, with a line before it for the next block. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** Keeps characters that Markdown would read as its own. */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(/[|<*]/g, String.raw`\$&`);
}

export function code(text: string): string {
  return `\`${text.replaceAll('|', String.raw`\|`)}\``;
}

export function codes(words: readonly string[]): string {
  return words.length === 0 ? 'none' : words.map(code).join(', ');
}

/** `fallback` is a default, `required` and more, or nothing. Tables of few columns fit narrow windows. */
export function typeWithDefault(type: string, fallback: string): string {
  if (fallback === '') return type;
  return `${type}; ${fallback.startsWith('required') ? fallback : `default: ${fallback}`}`;
}
