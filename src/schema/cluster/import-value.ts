import { isIP } from 'node:net';
import { isWord } from '../../model/expression/word.js';
import { isJsonObject, type Json } from '../../model/json.js';
import { matchesPattern } from '../field-constraints.js';
import { isOfType, typeWords, type VariableType } from './variable-type.js';

export const importFormats = ['word', 'ip', 'hostname', 'url', 'line', 'text'] as const;
type ImportFormat = (typeof importFormats)[number];

/** What a value of another cluster must be. Default: text of one word. */
export interface ImportRule {
  readonly type?: VariableType | undefined;
  readonly format?: ImportFormat | undefined;
  readonly pattern?: string | undefined;
}

/** The rule of a declaration, without omitted keys. */
export function ruleOf({ type, format, pattern }: ImportRule): ImportRule {
  return {
    ...(type === undefined ? {} : { type }),
    ...(format === undefined ? {} : { format }),
    ...(pattern === undefined ? {} : { pattern }),
  };
}

/**
 * Why another cluster's value does not match the variable's declaration; undefined if it does.
 * Quotes no value.
 */
export function importFault(value: Json, { type = 'text', format, pattern }: ImportRule): string | undefined {
  if (!isOfType(value, type)) return `is not ${typeWords[type]}`;
  const texts = textsOf(value);
  if (texts === undefined) return 'has a key that is not a word';
  if (pattern !== undefined)
    return texts.every((text) => matchesPattern(pattern, text)) ? undefined : `does not match ${pattern}`;
  const { fits, what } = formats[format ?? 'word'];
  return texts.every(fits) ? undefined : `is not ${what}`;
}

const formats: Readonly<
  Record<ImportFormat, { readonly fits: (text: string) => boolean; readonly what: string }>
> = {
  word: { fits: isWord, what: 'a word (letters, digits and . _ : / @ + -)' },
  ip: { fits: (text) => isIP(text) !== 0, what: 'an IP address' },
  hostname: {
    fits: (text) => /^(?=.{1,253}$)[a-z\d]([a-z\d-]{0,62})(\.[a-z\d][a-z\d-]{0,62})*$/i.test(text),
    what: 'a host name',
  },
  url: {
    fits: (text) => /^[a-z][a-z\d+.-]*:\/\/[\w.~:/?#@!&*+,;=%[\]-]+$/i.test(text) && URL.canParse(text),
    what: 'a URL',
  },
  line: { fits: (text) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), what: 'one line of text' },
  text: { fits: () => true, what: 'text' },
};

/** All texts in a value; undefined if a mapping has a key that is not a word. */
function textsOf(value: Json): readonly string[] | undefined {
  if (typeof value === 'string') return [value];
  if (isJsonObject(value) && !Object.keys(value).every(isWord)) return undefined;
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.values(value).map((item) => textsOf((item ?? null) as Json));
  return below.includes(undefined) ? undefined : below.flatMap((texts) => texts ?? []);
}
