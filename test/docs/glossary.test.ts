import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Action, actions } from '../../src/model/action.js';
import { foreignWords, ownWords } from './glossary-words.js';

const root = new URL('../../', import.meta.url);
const text = ['docs/reference/glossary.md', 'docs/guides/migration/terms.md']
  .map((path) => readFileSync(new URL(path, root), 'utf8'))
  .join('\n');

interface Row {
  readonly section: string;
  readonly cells: readonly string[];
}

const rows = readRows(text);
const foreignRows = rows.filter(({ cells }) => cells.length === 4);

describe('the glossary and the terms of older systems', () => {
  test('name only files and folders that exist', () => {
    const paths = [
      ...text.matchAll(/`((?:src|test|docs|examples|deploy)\/[\w./-]+|\.oxlintrc\.json)`/g),
    ].flatMap(([, path]) => path ?? []);
    expect(paths.length).toBeGreaterThan(100);
    expect(paths.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  test('have four columns in every row about another system, of which only the note may be empty', () => {
    const wrong = rows.filter(
      ({ section, cells }) =>
        section !== "Heddle's words" && (cells.length !== 4 || cells.slice(0, 3).includes('')),
    );
    expect(wrong).toEqual([]);
  });

  test('give a reason for every dropped term', () => {
    const dropped = foreignRows.filter(({ cells }) => cells[1] === 'dropped');
    expect(dropped.length).toBeGreaterThan(0);
    expect(dropped.filter(({ cells }) => !/\b(?:Because|As) /.test(cells[3] ?? ''))).toEqual([]);
  });

  test('name a file of the project for every term of another system', () => {
    expect(foreignRows.filter(({ cells }) => !(cells[2] ?? '').includes('`'))).toEqual([]);
  });

  test.each(Object.entries(foreignWords))('have every word of: %s', (section, words) => {
    const theirs = foreignRows
      .filter((row) => row.section === section)
      .map(({ cells }) => cells[0] ?? '')
      .join('\n');
    expect(words.filter((word) => !hasWord(theirs, word))).toEqual([]);
  });

  test("explain the project's own terms, one line each", () => {
    const explained = rows
      .filter(({ section }) => section === "Heddle's words")
      .map(({ cells }) => (cells[0] ?? '').replace(/ \(.*/, ''));
    expect(ownWords.filter((word) => !explained.includes(word))).toEqual([]);
    expect(new Set(explained).size).toBe(explained.length);
  });

  test('mention every action', () => {
    const theirs = foreignRows.map(({ cells }) => cells[0] ?? '').join('\n');
    const absent = actions.filter((action) => !onlyInHeddle.includes(action) && !hasWord(theirs, action));
    expect(absent, 'of other systems in terms.md, or onlyInHeddle of this test').toEqual([]);
  });
});

/** Actions without a counterpart in the other systems. */
const onlyInHeddle: readonly Action[] = ['EXEC'];

/** The rows of all tables, less their heads, each with the second-level heading it stands under. */
function readRows(markdown: string): readonly Row[] {
  let section = '';
  let inBody = false;
  return markdown.split('\n').flatMap((line): readonly Row[] => {
    if (line.startsWith('## ')) section = line.slice(3);
    const isBody = inBody && line.startsWith('| ');
    inBody = line.startsWith('| --- ') || isBody;
    if (!isBody || line.startsWith('| --- ')) return [];
    return [
      {
        section,
        cells: line
          .slice(2, line.lastIndexOf('|'))
          .trimEnd()
          .split(' |')
          .map((cell) => cell.trim()),
      },
    ];
  });
}

function hasWord(haystack: string, word: string): boolean {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`).test(haystack);
}
