import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { actions } from '../../src/model/action.js';
import { foreignWords, ownWords } from './glossary-words.js';

const root = new URL('../../', import.meta.url);
const text = readFileSync(new URL('docs/glossary.md', root), 'utf8');

interface Row {
  readonly section: string;
  readonly cells: readonly string[];
}

const rows = readRows(text);
const foreignRows = rows.filter(({ cells }) => cells.length === 4);

describe('the glossary', () => {
  test('names only files and folders that exist', () => {
    const paths = [
      ...text.matchAll(/`((?:src|test|docs|examples|deploy)\/[\w./-]+|\.oxlintrc\.json)`/g),
    ].flatMap(([, path]) => path ?? []);
    expect(paths.length).toBeGreaterThan(100);
    expect(paths.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  test('has four filled columns in every row about another system, the note alone may be empty', () => {
    const wrong = rows.filter(
      ({ section, cells }) =>
        section !== "Heddle's words" && (cells.length !== 4 || cells.slice(0, 3).includes('')),
    );
    expect(wrong).toEqual([]);
  });

  test('says of everything dropped why', () => {
    const dropped = foreignRows.filter(({ cells }) => cells[1] === 'dropped');
    expect(dropped.length).toBeGreaterThan(0);
    expect(dropped.filter(({ cells }) => !/\b(?:Because|As) /.test(cells[3] ?? ''))).toEqual([]);
  });

  test('names a file of ours for every word of theirs', () => {
    expect(foreignRows.filter(({ cells }) => !(cells[2] ?? '').includes('`'))).toEqual([]);
  });

  test.each(Object.entries(foreignWords))('has every word of: %s', (section, words) => {
    const theirs = foreignRows
      .filter((row) => row.section === section)
      .map(({ cells }) => cells[0] ?? '')
      .join('\n');
    expect(words.filter((word) => !hasWord(theirs, word))).toEqual([]);
  });

  test('explains our own words, one line each', () => {
    const explained = rows
      .filter(({ section }) => section === "Heddle's words")
      .map(({ cells }) => (cells[0] ?? '').replace(/ \(.*/, ''));
    expect(ownWords.filter((word) => !explained.includes(word))).toEqual([]);
    expect(new Set(explained).size).toBe(explained.length);
  });

  test('knows every action', () => {
    const theirs = foreignRows.map(({ cells }) => cells[0] ?? '').join('\n');
    // EXEC is ours alone, and is told where the word action is.
    expect(
      actions.filter((action) => action !== 'EXEC').filter((action) => !hasWord(theirs, action)),
    ).toEqual([]);
  });
});

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
