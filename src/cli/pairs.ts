import { InvalidArgumentError } from 'commander';

/** Texts by names, in the order in which they were given. */
export type Pairs = readonly (readonly [name: string, text: string])[];

/** Parses an option NAME=VALUE that may be repeated. */
export function parsePair(text: string, before: Pairs | undefined): Pairs {
  const pair = splitPair(text);
  if (pair === undefined) throw new InvalidArgumentError('It must be NAME=VALUE.');
  return [...(before ?? []), pair];
}

export function splitPair(text: string): Pairs[number] | undefined {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0)).trim();
  return name === '' ? undefined : [name, text.slice(at + 1)];
}
