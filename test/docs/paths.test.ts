import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
const path = /\b(?:src|test|tools|bench|examples|deploy|docs)\/[\w./-]*\w(?![\w{}*<>/])/g;

test('documents name only files and folders that exist', () => {
  const named = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(path)].map(([found]) => ({ page, found })),
  );
  expect(named.length).toBeGreaterThan(300);
  // A plugin of one's own has its tests in its own folder.
  const missing = named.filter(({ found }) => !found.includes('my-cloud') && !existsSync(join(root, found)));
  expect(missing).toEqual([]);
});

test('the steps in docs/developers/architecture.md are functions of the files beside them', () => {
  const rows = [
    ...readFileSync(join(root, 'docs/developers/architecture.md'), 'utf8').matchAll(
      /^\| \d+ \| (.+) \| (.+) \|$/gm,
    ),
  ];
  expect(rows.length).toBeGreaterThan(40);
  const missing = rows.flatMap(([, step = '', files = '']) => {
    const sources = [...files.matchAll(/`([^`]+)`/g)].map(([, file = '']) =>
      readFileSync(join(root, file), 'utf8'),
    );
    return [...step.matchAll(/`(\w+)/g)].filter(
      ([, name = '']) => !sources.some((source) => new RegExp(`\\b${name}\\b`).test(source)),
    );
  });
  expect(missing).toEqual([]);
});
