import { parseImageRef } from '../../../model/machine/image.js';
import type { CurrentReading, Outcome } from '../../contract.js';
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

/** Words that do not apply are empty in a command. */
const nothing: Required<Words> = { image: '', revision: '', file: '', token: '', reason: '', at: '' };

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin';

/** The command of a resource, with its whole environment. */
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

export function answerOf(code: number | null, why: string): Outcome {
  if (code === exits.yes) return { answer: 'done' };
  return { answer: code === exits.no ? 'not done' : 'unknown', why };
}

/** Program current prints `NAME@REVISION`, then `tainted: REASON` for each possible change by a user. */
export function readCurrent(code: number | null, stdout: string, said: string): CurrentReading {
  if (code === exits.no) return { is: 'no' };
  if (code !== exits.yes) return { is: 'unknown', why: said };
  const [first = '', ...others] = stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const image = first.includes('@') ? parseImageRef(first) : undefined;
  if (image === undefined)
    return {
      is: 'unknown',
      why: `program current printed ${JSON.stringify(first.slice(0, 100))}, which is no NAME@REVISION`,
    };
  return {
    is: 'yes',
    image,
    tainted: others.flatMap((line) => /^tainted:\s*(.*)$/.exec(line)?.[1]?.slice(0, 200) ?? []).slice(0, 20),
  };
}

export function describeExit(code: number | null, said: string): string {
  const last = said.split('\n').at(-1)?.trim().slice(-300) ?? '';
  if (code === exits.no && last !== '') return last;
  return `it ended with ${code ?? 'no exit code'}${last === '' ? '' : `: ${last}`}`;
}
