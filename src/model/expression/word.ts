import type { Json } from '../json.js';

/** What `isWord` accepts of a text, for messages. */
export const wordRule = 'letters, digits and . _ : / @ + -, beginning with none of @ + -';

const word = /^[A-Za-z0-9._:/][A-Za-z0-9._:/@+-]{0,1023}$/;

/**
 * Whether a value stays one word wherever it is put: in a shell with or without quotes, in a
 * here document, in YAML, in a template, in a string of any language. It may still name any
 * command, file or option value, so what names a program stays closed to it.
 */
export function isWord(value: Json): boolean {
  if (typeof value === 'boolean') return true;
  return (typeof value === 'string' || typeof value === 'number') && word.test(String(value));
}

/**
 * Whether a value is a list of words. Within a text it becomes several, so only where the author of
 * the cluster file expects a list: `HOST=${{ word(node.host) }}` with two words runs the second one.
 */
export function isWordList(value: Json): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((item: Json) => isWord(item));
}
