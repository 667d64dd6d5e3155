import { parseImageRef } from '../../../model/machine/image.js';
import { PluginError, type CurrentReading, type Outcome } from '../../contract.js';
import { programExits } from '../../bare-metal/index.js';
import { fillWords } from '../../fill-words.js';
import type { Resource } from './fields.js';

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
  if (code === programExits.yes) return { answer: 'done' };
  return { answer: code === programExits.no ? 'not done' : 'unknown', why };
}

/** Of a program about an image. @throws PluginError ImageUnusable if the program says so. */
export function imageAnswerOf(code: number | null, why: string): Outcome {
  if (code === programExits.noImage) throw new PluginError('ImageUnusable', why);
  return answerOf(code, why);
}

/** Program current prints `NAME@REVISION`, then `tainted: REASON` for each possible change by a user. */
export function readCurrent(code: number | null, stdout: string, said: string): CurrentReading {
  if (code === programExits.no) return { is: 'no' };
  if (code !== programExits.yes) return { is: 'unknown', why: said };
  const [first = '', ...others] = stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const image = first.includes('@') ? parseImageRef(first) : undefined;
  if (image === undefined)
    return {
      is: 'unknown',
      why: `program current printed ${JSON.stringify(first.slice(0, 100))}, which is not NAME@REVISION`,
    };
  return {
    is: 'yes',
    image,
    tainted: others.flatMap((line) => /^tainted:\s*(.*)$/.exec(line)?.[1]?.slice(0, 200) ?? []).slice(0, 20),
  };
}

export function describeExit(code: number | null, said: string): string {
  const last = said.split('\n').at(-1)?.trim().slice(-300) ?? '';
  if (code === programExits.no && last !== '') return last;
  return `it ended with ${code ?? 'no exit code'}${last === '' ? '' : `: ${last}`}`;
}
