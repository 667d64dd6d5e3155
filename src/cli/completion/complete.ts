import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/index.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../errors.js';
import { createProgram } from '../program.js';
import { candidatesFor, type Candidates, type NameCandidates } from './candidates.js';

/** A longer wait would make completion useless. */
const patienceMs = 5_000;

/** Tells the shell to complete names of files. */
export const filesMark = ':files';

/** Words without a meaning to a shell. Bash inserts words as they are, and some come from files of others. */
const plainWord = /^[\w@%+=:,./-]+$/;

/** Prints what may stand at the cursor, one per line; the last word is the one at the cursor. Never fails. */
export async function complete(words: readonly string[]): Promise<number> {
  const current = words.at(-1) ?? '';
  const candidates = candidatesFor(
    createProgram(async () => undefined),
    words.slice(0, -1).map(expandHome),
    current,
  );
  if (candidates.is === 'files') process.stdout.write(`${filesMark}\n`);
  else {
    const stem = stemOf(current, candidates);
    const found = (await wordsOf(candidates)).filter((word) => plainWord.test(word));
    for (const word of found.map((one) => `${stem}${one}`))
      if (word.startsWith(current)) process.stdout.write(`${word}\n`);
  }
  // A pending query must not block the prompt.
  process.exit(exitCodes.ok);
}

/** Shells pass the words as they were typed. */
function expandHome(word: string): string {
  return word.startsWith('~/') ? join(homedir(), word.slice(2)) : word;
}

/**
 * What precedes a name and belongs to its word: `--nodes=app-1,` and `app-1,`. A value may contain commas.
 */
function stemOf(current: string, candidates: Candidates): string {
  const isAssignment = candidates.is === 'names' && candidates.of === 'variables';
  const stem = isAssignment ? /^--[a-z-]+=/ : /^(?:--[a-z-]+=)?(?:[^,]*,)*/;
  return stem.exec(current)?.[0] ?? '';
}

async function wordsOf(
  candidates: Exclude<Candidates, { readonly is: 'files' }>,
): Promise<readonly string[]> {
  if (candidates.is === 'words') return candidates.words;
  const late = new Promise<readonly string[]>((resolve) => {
    setTimeout(() => resolve([]), patienceMs).unref();
  });
  return Promise.race([askNames(candidates).catch(() => []), late]);
}

/** Loads no more than the names need: reading modules takes most of the time. */
async function askNames(candidates: NameCandidates): Promise<readonly string[]> {
  const { of, within, options } = candidates;
  switch (of) {
    case 'accounts':
      return Object.keys((await readConfiguration(options)).providers);
    case 'provider types':
      return pluginNames(['provider'], options);
    case 'automators':
      return pluginNames(['automator'], options);
    case 'plugins':
      return pluginNames(['provider', 'automator'], options);
    case 'codes':
      return [...new Set((await import('../explain/catalogue.js')).entries.map(({ code }) => code))];
    case 'variables':
      return within === undefined ? [] : assignments(within);
    default:
      return (await import('./server-names.js')).askServer(candidates);
  }
}

async function readConfiguration(options: ServerOptions): Promise<Config> {
  return (await import('../configuration.js')).readConfiguration(options);
}

async function pluginNames(
  types: readonly ('provider' | 'automator')[],
  options: ServerOptions,
): Promise<readonly string[]> {
  const { listPluginNames } = await import('../../plugins/plugin-names.js');
  // Without a valid heddle.yaml there are still the built-in ones.
  const folders = await readConfiguration(options).then(
    ({ plugins }) => plugins,
    () => [],
  );
  return [...new Set(types.flatMap((type) => listPluginNames(type, folders)))];
}

/**
 * `NAME=VALUE` of each variable of a cluster file, and `NAME=` if some or all of its values must be typed.
 */
async function assignments(file: string): Promise<readonly string[]> {
  const { readVariables } = await import('../../schema/cluster/read-variables.js');
  return Object.entries(readVariables(file)).flatMap(([name, { type, allowed = [], secret }]) => {
    const known = type === 'boolean' ? [true, false] : secret === true ? [] : allowed;
    const values = known
      .filter((value) => typeof value !== 'object')
      .map(String)
      .filter((value) => plainWord.test(value));
    const isComplete = known.length > 0 && values.length === known.length;
    return [...values.map((value) => `${name}=${value}`), ...(isComplete ? [] : [`${name}=`])];
  });
}
