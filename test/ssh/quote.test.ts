import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { quoteWord, quoteWords } from '../../src/ssh/quote.js';
import { fc } from '../harness/property.js';

const word = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.replaceAll('\0', '')),
  fc.string({
    unit: fc.constantFrom(
      `'`,
      '"',
      '\\',
      '$',
      '`',
      '!',
      '\n',
      ' ',
      '*',
      '~',
      '-',
      '=',
      '#',
      ';',
      '&',
      '|',
      '(',
      ')',
      '<',
      'a',
    ),
    maxLength: 20,
  }),
);

test('a shell reads exactly the quoted words', () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), (words) => {
      // A lone surrogate has no UTF-8 form, so no process could be given it.
      const clean = words.map((one) => Buffer.from(one).toString());
      const read = execFileSync('/bin/sh', [
        '-c',
        `for word in ${quoteWords(clean)}; do printf '%s\\0' "$word"; done`,
      ]);
      expect(read.toString().split('\0').slice(0, -1)).toEqual(clean);
    }),
    { numRuns: 150 },
  );
});

test.each([
  ['', `''`],
  ['plain-1.0_x/y:z@h', 'plain-1.0_x/y:z@h'],
  [`it's`, `'it'\\''s'`],
  ['~', `'~'`],
  ['a=b', `'a=b'`],
])('quotes %j as %s', (given, quoted) => {
  expect(quoteWord(given)).toBe(quoted);
});

test('refuses a NUL, which no argument can carry', () => {
  expect(() => quoteWord('a\0b')).toThrow(RangeError);
});
