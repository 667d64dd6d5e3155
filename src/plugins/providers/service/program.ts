import { fillWords } from '../../fill-words.js';
import type { Resource } from './fields.js';

/**
 * What the exit codes of an account's programs mean; any other code means unknown. `no` is a code that
 * shells and clients do not end with by themselves: pg_dump, for one, ends with 1 when no server answers,
 * which must not read as "certainly not".
 */
export const exits = { yes: 0, no: 10 } as const;

/** The words that a program is about, as `{word}` in its command and as `HEDDLE_WORD` in its environment. */
export interface Words {
  readonly image?: string;
  readonly revision?: string;
  readonly file?: string;
  readonly token?: string;
  readonly reason?: string;
  readonly at?: string;
}

export interface Filled {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** What a program is not about is empty in its command. */
const nothing: Required<Words> = { image: '', revision: '', file: '', token: '', reason: '', at: '' };

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin';

/** The command of a resource. No variable of the worker reaches it but its PATH. */
export function fillCommand(
  command: readonly string[],
  { name, environment }: Resource,
  about: Words,
): Filled {
  const values: Readonly<Record<string, string>> = { ...nothing, resource: name, ...about };
  return {
    words: fillWords(command, values),
    environment: {
      PATH: searchPath,
      LC_ALL: 'C',
      ...environment,
      ...Object.fromEntries(
        Object.entries({ resource: name, ...about }).map(([key, value]) => [
          `HEDDLE_${key.toUpperCase()}`,
          value,
        ]),
      ),
    },
  };
}
