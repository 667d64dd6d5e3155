import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);

interface Promised {
  readonly id: string;
  readonly file: string;
}

/** The rows of docs/explanation/security.md: an id, a sentence, the file of the test that enforces it. */
const promised = [
  ...read('docs/explanation/security.md').matchAll(/^\| `([a-z-]+)` \| .+ \| `(test\/[\w./-]+)` \|$/gm),
].map(([, id = '', file = '']): Promised => ({ id, file }));

/** Tests name the promise they enforce in a comment on the line before them. */
const enforced = testFiles().flatMap((file): readonly Promised[] =>
  [
    ...read(file).matchAll(
      /^ *\/\/ Promise: ([a-z-]+)\n *(?:test|it|describe)(?:\.(?:each|for|concurrent))?\(/gm,
    ),
  ].map(([, id = '']) => ({ id, file })),
);

describe('the promises of docs/explanation/security.md', () => {
  test('name for each promise a test that enforces it', () => {
    expect(promised.length).toBeGreaterThan(30);
    expect(
      promised.filter((row) => !enforced.some(({ id, file }) => id === row.id && file === row.file)),
    ).toEqual([]);
  });

  test('include the promise of each test that enforces one', () => {
    expect(enforced.filter(({ id }) => !promised.some((row) => row.id === id))).toEqual([]);
  });

  test('have unique ids', () => {
    expect(promised.map(({ id }) => id).toSorted()).toEqual(
      [...new Set(promised.map(({ id }) => id))].toSorted(),
    );
  });

  test('are named in comments only directly before a test that runs', () => {
    const comments = testFiles().flatMap((file) =>
      [...read(file).matchAll(/\/\/ Promise: ([a-z-]+)/g)].map(([, id = '']) => ({ id, file })),
    );
    expect(comments).toEqual(enforced);
  });
});

function testFiles(): readonly string[] {
  return readdirSync(new URL('test', root), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && path !== 'docs/promises.test.ts')
    .map((path) => `test/${path}`);
}

function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}
