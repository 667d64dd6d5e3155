import { expect, test } from 'vitest';
import { compareVersions, floorProblem } from '../../src/server/version.js';

test.each([
  ['1.30.4', '1.30.4', 0],
  ['1.30.10', '1.30.9', 1],
  ['1.9.1', '1.30.4', -21],
  ['v1.32.0', '1.32', 0],
  ['1.32.0-rc.1', '1.32.0', 0],
  ['2', '1.99.99', 1],
])('compares %s with %s by number, not by letter', (a, b, difference) => {
  expect(compareVersions(a, b)).toBe(difference);
});

test('names the vulnerability of a server below the minimum version', () => {
  expect(floorProblem('1.30.3')).toContain('CVE-2026-5724');
  expect(floorProblem('1.29.6')).toContain('older than 1.30.4');
});

test('accepts the minimum and newer versions, and refuses unknown ones', () => {
  expect(floorProblem('1.30.4')).toBeUndefined();
  expect(floorProblem('1.32.0')).toBeUndefined();
  expect(floorProblem('')).toContain('cannot be compared');
});
