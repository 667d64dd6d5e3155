import type { Json } from '../json.js';

/** What `isWord` accepts, for messages. */
export const wordRule = 'letters, digits and . _ : / @ + -, beginning with none of @ + -';

const word = /^[A-Za-z0-9._:/][A-Za-z0-9._:/@+-]{0,1023}$/;

/**
 * Whether a value stays one word, or a list of words, wherever it is put: in a shell with or without quotes, in a
 * here document, in YAML, in a template, in a string of any language. It may still name any command, file or option
 * value, so what names a program stays closed to it.
 */
export function isWord(value: Json): boolean {
  if (Array.isArray(value)) return value.every((item: Json) => !Array.isArray(item) && isWord(item));
  if (typeof value === 'boolean') return true;
  return (typeof value === 'string' || typeof value === 'number') && word.test(String(value));
}
