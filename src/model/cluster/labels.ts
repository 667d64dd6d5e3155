import { isForbiddenKey } from '../json.js';

/** Labels of a cluster: for lists, and for the tags of its machines. */
export type Labels = Readonly<Record<string, string>>;

/** Tags with this prefix are Heddle's own. */
const ownPrefix = 'heddle';

/** Providers limit keys and values of tags; the strictest of them has these limits. */
const labelKeyPattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,38}[A-Za-z0-9])?$/;
export const labelValuePattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
export const maxLabels = 20;

export const labelRule =
  'KEY=VALUE: letters, digits, dots, underscores and hyphens, a letter or digit first and last; keys have at most 40 characters, do not begin with heddle, and are not constructor or prototype; values have at most 63.';

export function isLabel(key: string, value: string): boolean {
  return isLabelKey(key) && labelValuePattern.test(value);
}

export function isLabelKey(key: string): boolean {
  return labelKeyPattern.test(key) && !key.toLowerCase().startsWith(ownPrefix) && !isForbiddenKey(key);
}

/** `team=web`, as the server's index has it. */
export function indexLabels(labels: Labels): readonly string[] {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted();
}

/** Parses `team=web`; undefined if it is not a valid label. */
export function parseLabel(text: string): readonly [key: string, value: string] | undefined {
  const at = text.indexOf('=');
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  return at > 0 && isLabel(key, value) ? [key, value] : undefined;
}
