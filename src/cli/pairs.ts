import { CommanderError } from 'commander';
import { isForbiddenKey } from '../model/json.js';
import { exitCodes } from './errors.js';

/** Texts by names, in the order in which they were given. */
export type Pairs = readonly (readonly [name: string, text: string])[];

/**
 * A parser for an option NAME=VALUE that may be repeated with other names. Errors contain no
 * value, because it may be a secret.
 */
export function pairParser(flag: string): (text: string, before: Pairs | undefined) => Pairs {
  return (text, before = []) => {
    const pair = splitPair(text);
    const fault = pair === undefined ? 'It must be NAME=VALUE.' : pairFault(pair, before);
    if (pair !== undefined && fault === undefined) return [...before, pair];
    throw new CommanderError(exitCodes.usage, 'heddle.pair', `${flag}: ${fault}`);
  };
}

export function splitPair(text: string): Pairs[number] | undefined {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0)).trim();
  return name === '' ? undefined : [name, text.slice(at + 1)];
}

/** The problem with a name, given the pairs before; undefined if there is none. */
export function pairFault([name]: Pairs[number], before: Pairs): string | undefined {
  if (isForbiddenKey(name)) return `${name} is a reserved name. Use another one.`;
  return before.some(([other]) => other === name) ? `${name} is given twice. Give it once.` : undefined;
}
