import { InvalidArgumentError } from 'commander';

/** Texts by the keys of fields, as they were given. */
export type GivenTexts = readonly (readonly [key: string, text: string])[];

/** Of --field; may be given more than once. */
export function parseGiven(text: string, before: GivenTexts | undefined): GivenTexts {
  const pair = splitPair(text);
  if (pair === undefined) throw new InvalidArgumentError('It must be key=value.');
  return [...(before ?? []), pair];
}

export function splitPair(text: string): readonly [string, string] | undefined {
  const at = text.indexOf('=');
  const key = text.slice(0, Math.max(at, 0)).trim();
  return key === '' ? undefined : [key, text.slice(at + 1)];
}
