/**
 * What a node said, fit to stand in a message or a log line: no control character that a terminal would obey,
 * no line that could pass for one of ours, no mark that turns the direction of writing.
 */
export function printable(text: string): string {
  return text
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(/[\p{Cc}\u200E\u200F\u061C\u202A-\u202E\u2066-\u2069]/gu, '?')
    .trim();
}
