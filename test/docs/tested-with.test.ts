import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const { testedWithTables } = (await import(pathToFileURL(join(root, 'tools/components.mjs')).href)) as {
  readonly testedWithTables: () => string;
};

test('the tables of docs/reference/tested-with.md are those of tools/components.mjs', () => {
  const page = readFileSync(join(root, 'docs/reference/tested-with.md'), 'utf8');
  expect(page.slice(page.indexOf('## Real')).trim()).toBe(testedWithTables());
});
