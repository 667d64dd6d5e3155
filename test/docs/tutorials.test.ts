import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { patternOf, readSteps } from '../harness/docs/tutorial-page.js';

const root = join(import.meta.dirname, '..', '..');
const namesIn = (folder: string, suffix: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .toSorted();

test('every page of docs/tutorials has a test that follows it', () => {
  const pages = namesIn('docs/tutorials', '.md').filter((name) => name !== 'index');
  expect(namesIn('test/tutorials', '.real.test.ts')).toEqual(pages);
});

describe('the steps of a page', () => {
  test('are its files, its commands with their output, and what a comment declares', () => {
    const page = [
      '<!-- needs: which curl -->',
      '```yaml title="a/b.yaml"',
      'name: b',
      '```',
      '```console',
      '$ cat \\',
      '  a/b.yaml',
      'name: b',
      '$ false # exits with 1',
      '```',
      '```console title="second"',
      '^C',
      '```',
      '```text',
      '$ not a step',
      '```',
    ].join('\n');
    expect(readSteps(page)).toMatchObject([
      { kind: 'needs', text: 'which curl', line: 1 },
      { kind: 'file', path: 'a/b.yaml', text: 'name: b\n', line: 2 },
      { kind: 'command', text: 'cat \\\n  a/b.yaml', shown: ['name: b'], exitCode: 0, line: 6 },
      { kind: 'command', text: 'false # exits with 1', shown: [], exitCode: 1, line: 9 },
      { kind: 'interrupt', terminal: 'second', line: 12 },
    ]);
  });

  test.each([
    ['```yaml\nname: b\n```', 'line 1: this block is neither a file nor a command'],
    ['```console\nonly output\n$ command\n```', 'line 2: this is the output of no command'],
    ['```console\n$ command', 'line 1: this block has no end'],
    ['# A page\n\n```yaml title="a.yaml"\nname: b\n```', 'the page has no command'],
  ])('refuse %j', (page, message) => {
    expect(() => readSteps(page)).toThrow(message);
  });

  test.each(namesIn('docs/tutorials', '.md').filter((name) => name !== 'index'))(
    'of %s can be read',
    (name) => {
      readSteps(readFileSync(join(root, 'docs/tutorials', `${name}.md`), 'utf8'));
    },
  );
});

describe('output in a page', () => {
  test.each([
    ['2 nodes, 8 tasks in 8.2 s', '2 nodes, 8 tasks in 1 m 02 s'],
    ['web-1  ready (3.4 s ago)  127.1.2.3', 'web-1  ready (14 s ago)    127.163.128.3   '],
    ['03:24:50 done 0.3 s', '13:00:01 done 120 ms'],
    ['next: heddle … --watch', 'next: heddle status web --watch'],
    ['254 answered (all)', '1093 answered (all)'],
    ['a+b | c', 'a+b | c'],
  ])('%s stands for: %s', (shown, printed) => {
    expect(`${printed}\n`).toMatch(new RegExp(`^${patternOf([shown])}$`));
  });

  test.each([
    ['2 nodes, 8 tasks', '3 nodes, 8 tasks'],
    ['web-1 ready', 'web-2 ready'],
    ['254 answered, 0 failed', '254 answered, 1 failed'],
    ['a.b', 'a-b'],
    ['done', 'not done'],
  ])('%s does not stand for: %s', (shown, printed) => {
    expect(`${printed}\n`).not.toMatch(new RegExp(`^${patternOf([shown])}$`));
  });

  test('has any number of lines in place of … alone', () => {
    const pattern = new RegExp(`^${patternOf(['…', 'end'])}$`);
    for (const printed of ['end\n', 'one\ntwo\nend\n']) expect(printed).toMatch(pattern);
    expect('one\nend of it\n').not.toMatch(pattern);
  });
});
