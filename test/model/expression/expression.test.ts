import { describe, expect, test } from 'vitest';
import { evaluate, type Scope } from '../../../src/model/expression/evaluate.js';
import { fillText, fillValue } from '../../../src/model/expression/fill.js';
import { isWord, isWordList } from '../../../src/model/expression/word.js';
import { escapeText, splitText, variablesIn } from '../../../src/model/expression/parse.js';

const scope: Scope = {
  variables: {
    port: 80,
    negative: -1,
    name: 'web',
    list: [1, 2],
    empty: [],
    map: { a: { b: true, list: ['x'] } },
  },
  node: { id: 'app-1', hostname: 'h1', disk: { size: 5 }, 'db.version': '15.6', address: ['db', 'touch'] },
  nodes: {
    'app-2': { nodenum: 2, services: ['app'], values: { ipaddress: '10.0.0.2' } },
    'app-1': { nodenum: 1, services: ['app'], values: { ipaddress: '10.0.0.1' } },
  },
};
const fill = (text: string): unknown => fillValue(text, (expression) => evaluate(expression, scope));

describe('an expression in a text', () => {
  test.each([
    ['${{ var.name }}:${{var.port}}', 'web:80'],
    ['${{ var.port }}', 80],
    ['${{ var.list }}', [1, 2]],
    ['items ${{ var.list }}', 'items 1 2'],
    ['${{ var.map.a.b }}', true],
    ['${{ node.disk.size }} GB on ${{ node.id }}', '5 GB on app-1'],
    ['${{ node.db.version }}', '15.6'],
    ['${{ nodes.app-2.ipaddress }}', '10.0.0.2'],
    ['${{ services.app.ipaddress }}', ['10.0.0.1', '10.0.0.2']],
    ['server ${{ services.app.ipaddress }};', 'server 10.0.0.1 10.0.0.2;'],
    ['${{ word(nodes.app-2.ipaddress) }}', '10.0.0.2'],
    ['server ${{word( services.app.ipaddress )}};', 'server 10.0.0.1 10.0.0.2;'],
    ['${{ word(var.port) }}', 80],
    ['${{ word(var.list) }} ${{ word(var.map.a.b) }}', '1 2 true'],
  ])('%s becomes %j', (text, value) => {
    expect(fill(text)).toEqual(value);
  });

  test.each([
    'echo ${x} $x ${x:-${y}} $(cmd) $$ ${#x} {{ jinja }} <%= erb %> %{hiera} ${var.x}',
    'for f in "$@"; do echo "${f%.*}"; done',
  ])('leaves what shells and templates write as it is: %s', (text) => {
    expect(fill(text)).toBe(text);
  });

  test('is text when a dollar sign stands before it', () => {
    expect(fill('on: $${{ github.ref }} ${{ var.name }}')).toBe('on: ${{ github.ref }} web');
    expect(fill(escapeText('a ${{ var.port }} b'))).toBe('a ${{ var.port }} b');
  });

  test('keeps its escapes, and those of its value, where the text is read once more', () => {
    const later = fillText(
      '$${{ a }} ${{ var.x }} ${{ nodes.a-1.b }}',
      ({ words }) => (words[0] === 'var' ? '${{ x }}' : undefined),
      escapeText,
    );
    expect(later).toBe('$${{ a }} $${{ x }} ${{ nodes.a-1.b }}');
  });

  test.each([
    ['${{ var.x', 'is not closed'],
    ['${{ var.x\n}}', 'is not closed'],
    ['${{ 1 + 1 }}', 'must be a name'],
    ['${{ var. }}', 'must be a name'],
    ['${{ word(node.id }}', 'must be a name'],
    ['${{ quote(node.id) }}', 'must be a name'],
    ['${{}}', 'must be a name'],
  ])('%j is broken: it %s', (text, wrong) => {
    expect(splitText(text)).toContainEqual(
      expect.objectContaining({ wrong: expect.stringContaining(wrong) }),
    );
  });

  test.each([
    ['${{ var.none }}', 'variable none has no value'],
    ['${{ nodes.app-9.ipaddress }}', 'node app-9 does not exist'],
    ['${{ services.db.ipaddress }}', 'no node has service db'],
    ['${{ nodes.app-1.hostname }}', 'nodes.app-1 has no hostname'],
    ['${{ node.constructor }}', 'node has no constructor'],
    ['${{ var.port.x }}', 'var.port is not a mapping'],
    ['${{ word(var.negative) }}', 'it is not a word'],
    ['${{ word(var.map) }}', 'it is not a word'],
    // A shell would run the second word of HOST=${{ word(node.address) }}.
    ['HOST=${{ word(node.address) }}', 'it is not a word: it is a list'],
    ['${{ word(var.map.a.list) }}', 'it is not a word: it is a list'],
    ['rm -rf /srv/${{ word(var.empty) }}', 'it is not a word: it must be a list of at least one word'],
  ])('%s is refused: %s', (text, why) => {
    expect(() => fill(text)).toThrow(why);
  });

  test.each(['10.0.0.1', 'fe80::1', 'db://10.0.0.1:5432', 'sha256:0a', 'a@b', '1.2+b3', 80, true])(
    '%j is a word',
    (value) => {
      expect(isWord(value)).toBe(true);
    },
  );

  test.each([
    '',
    '-x',
    '@x',
    'a b',
    'a\n',
    'a\nb',
    '$a',
    '`a`',
    "a'",
    'a"',
    'a;',
    'a|b',
    '{{',
    '#',
    '~',
    '*',
    'a\\b',
    null,
    {},
    [['a']],
  ])('%j is not a word', (value) => {
    expect(isWord(value)).toBe(false);
  });

  test.each([
    [['a', 1], true],
    [[], false],
    [['-x'], false],
    [[['a']], false],
    ['a', false],
  ])('%j is a list of words: %j', (value, expected) => {
    expect(isWordList(value)).toBe(expected);
  });

  test('names its variables', () => {
    expect(
      variablesIn({ a: ['${{ var.b }}', '${{ node.x }}'], c: '${{ var.a.key }} $${{ var.c }}' }),
    ).toEqual(['a', 'b']);
  });
});
