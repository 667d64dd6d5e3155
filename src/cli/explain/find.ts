import { cleanText } from '../clean-text.js';
import type { Case } from './case.js';
import type { Entry } from './catalogue.js';

/** Longer texts are cut: the words that identify a message come early. */
const longestQuery = 4_000;
const mostWords = 300;
const mostCases = 3;

/** The least share of the words of a part of a message that must agree, by their weight. */
const leastShare = 0.6;
/**
 * The same for a text that is long enough to hold the whole message: its words may not differ from the
 * message.
 */
const leastShareOfWhole = 0.8;
/** The least weight of the words that agree: two words that few messages have, or many common ones. */
const leastWeight = 5.5;
/** Cases that agree less than the best one, relative to it, are not shown. */
const leastOfBest = 0.7;

/** What was typed: codes, words of a message, or a whole message with its prefix and its `next:` lines. */
export function readQuery(words: readonly string[]): string {
  const lines = cleanText(words.join(' ').slice(0, longestQuery)).split('\n');
  return lines
    .filter((line, index) => index === 0 || !/^(?:next|then|or): /.test(line))
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * Entries whose code was typed, in any case: `Invalid`, or `task Invalid` for one meaning of it. A check also
 * with the account in brackets.
 */
export function entriesNamed(query: string, entries: readonly Entry[]): readonly Entry[] {
  const wanted = query.replace(/ \(.*\)$/, '').toLowerCase();
  return entries.filter(({ of, code }) =>
    [code, `${of} ${code}`].some((name) => name.toLowerCase() === wanted),
  );
}

/**
 * Entries whose code stands in a message as Heddle shows it: `error[NoWorker]: …`, `(ScriptFailed, exit code
 * 7)`.
 */
export function entriesWithin(query: string, entries: readonly Entry[]): readonly Entry[] {
  const codes = new Set([...query.matchAll(/\berror\[(\w+)\]/g)].map(([, code]) => code));
  const kinds = new Set([...query.matchAll(/\((\w+)(?:, [^()]*)?\)/g)].map(([, kind]) => kind));
  return entries.filter(({ code, of }) =>
    (of === 'command' ? codes : of === 'task' ? kinds : none).has(code),
  );
}

const none: ReadonlySet<string | undefined> = new Set();

/**
 * Finds the cases whose message fits a text, whatever stands for `…` in it; the best first. With entries,
 * only cases that have the code of one of them.
 */
export function caseFinder(
  cases: readonly Case[],
): (query: string, within?: readonly Entry[]) => readonly Case[] {
  const messages = cases.map((found) => ({ found, words: wordsOf(found.message) }));
  const weights = weigh([...new Set(cases.map(({ message }) => message))].map(wordsOf));
  return (query, within = []) => {
    const known = wordsOf(query)
      .slice(0, mostWords)
      .filter((word) => weights.has(word));
    const matches = messages
      .filter(({ found }) => within.length === 0 || within.some((entry) => isOf(found, entry)))
      .map(({ found, words }) => ({ found, weight: agreement(known, words, weights) }))
      .filter(({ weight }) => weight >= leastWeight)
      .toSorted((one, other) => other.weight - one.weight);
    const [best] = matches;
    return matches
      .filter(({ weight }) => best !== undefined && weight >= best.weight * leastOfBest)
      .slice(0, mostCases)
      .map(({ found }) => found);
  };
}

function isOf({ of, code }: Case, entry: Entry): boolean {
  return of === entry.of && code === entry.code;
}

/** Words of letters only: values, numbers and punctuation differ from message to message. */
function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}

/** A word weighs the more, the fewer texts have it. */
function weigh(texts: readonly (readonly string[])[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of texts.flatMap((text) => [...new Set(text)]))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map([...counts].map(([word, count]) => [word, Math.log(1 + texts.length / count)]));
}

/** The weight of the words that both have in the same order; 0 if that is too little of either of them. */
function agreement(
  query: readonly string[],
  text: readonly string[],
  weights: ReadonlyMap<string, number>,
): number {
  const weightOf = (word: string): number => weights.get(word) ?? 0;
  const common = commonWeight(query, text, weightOf);
  const [ofQuery, ofText] = [sum(query.map(weightOf)), sum(text.map(weightOf))];
  const share = common / Math.min(ofQuery, ofText);
  return share >= (ofQuery < ofText ? leastShare : leastShareOfWhole) ? common * share : 0;
}

/** The weight of the heaviest common subsequence. */
function commonWeight(
  one: readonly string[],
  other: readonly string[],
  weightOf: (word: string) => number,
): number {
  let row = Array.from({ length: other.length + 1 }, () => 0);
  for (const word of one) {
    const next = [0];
    other.forEach((candidate, index) => {
      const same = candidate === word ? (row[index] ?? 0) + weightOf(word) : 0;
      next.push(Math.max(same, row[index + 1] ?? 0, next[index] ?? 0));
    });
    row = next;
  }
  return row.at(-1) ?? 0;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
