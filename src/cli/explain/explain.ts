import { suggest } from '../../schema/suggest.js';
import { cleanLine } from '../clean-text.js';
import { CliError } from '../errors.js';
import type { Output, OutputOptions } from '../output.js';
import { localVerb } from '../verb.js';
import type { Case } from './case.js';
import { cases, entries, type Entry } from './catalogue.js';
import { caseFinder, entriesNamed, entriesWithin, readQuery } from './find.js';
import { printCase, printCodes, printEntry } from './print-explanation.js';

/** Without words the list of codes, else what fits the words. */
type Answer = { readonly codes: readonly Entry[] } | Found;

interface Found {
  readonly entries: readonly Entry[];
  readonly cases: readonly Case[];
}

/** Prints what a code or a message means, and what to do. */
export const explain = localVerb(
  (words: readonly string[], _options: OutputOptions): Answer => {
    const query = readQuery(words);
    return query === '' ? { codes: entries } : find(query);
  },
  {
    document: (answer) =>
      'codes' in answer
        ? { codes: answer.codes.map(({ code, of, title }) => ({ code, of, title })) }
        : answer,
    print: (output, answer) => {
      if ('codes' in answer) return printCodes(output, answer.codes);
      printApart(output, answer.cases, printCase);
      printApart(output, answer.entries, printEntry);
    },
  },
);

/** @throws CliError NotFound that names the closest code */
function find(query: string): Found {
  const named = entriesNamed(query, entries);
  if (named.length > 0) return { entries: named, cases: [] };
  const within = entriesWithin(query, entries);
  const found = caseFinder(cases)(query, within);
  if (found.length > 0) return { entries: [], cases: found };
  if (within.length > 0) return { entries: within, cases: [] };
  const near = suggest(
    query,
    entries.map(({ code }) => code),
  );
  throw new CliError(
    'NotFound',
    `no code or message fits ${JSON.stringify(cleanLine(query).slice(0, 200))}. ${near ?? 'Give a code, or more words of the message'}`,
    { next: 'heddle explain' },
  );
}

/** With a blank line between two of them. */
function printApart<Item>(
  output: Output,
  items: readonly Item[],
  print: (output: Output, item: Item) => void,
): void {
  for (const [index, item] of items.entries()) {
    if (index > 0) output.line();
    print(output, item);
  }
}
