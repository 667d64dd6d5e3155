import { expect, test } from 'vitest';
import { parseDuration } from '../../src/model/duration.js';
import { closest } from '../../src/schema/suggest.js';

test.each<readonly [string | number, number | undefined]>([
  ['30s', 30_000],
  ['10m', 600_000],
  ['1h30m', 5_400_000],
  ['250ms', 250],
  ['1.5s', 1_500],
  ['30d', 2_592_000_000],
  [30, 30_000],
  [0.5, 500],
  ['31d', undefined],
  ['0s', undefined],
  ['', undefined],
  ['10', undefined],
  ['10 m', undefined],
  ['-1s', undefined],
  ['1e3s', undefined],
  ['5 minutes', undefined],
  [0, undefined],
  [-1, undefined],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
])('the duration %j is %s ms', (written, ms) => {
  expect(parseDuration(written)).toBe(ms);
});

test.each<readonly [string, readonly string[], string | undefined]>([
  ['servces', ['services', 'serve'], 'services'],
  ['tpye', ['type', 'name'], 'type'],
  ['Count', ['count'], 'count'],
  ['x', ['type'], undefined],
  ['groups', ['nodes', 'name'], undefined],
  ['x'.repeat(10_000), ['type'], undefined],
])('for %j of %j the closest is %s', (word, known, expected) => {
  expect(closest(word, known)).toBe(expected);
});
