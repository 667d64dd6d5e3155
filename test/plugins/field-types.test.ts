import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const tool = join(import.meta.dirname, '../../tools/field-types.mjs');

test("the types of the providers' fields match their descriptors (else: npm run build)", async () => {
  const { fieldTypes } = (await import(pathToFileURL(tool).href)) as {
    readonly fieldTypes: () => readonly (readonly [string, string])[];
  };
  const files = fieldTypes();
  expect(files.length).toBeGreaterThan(5);
  for (const [file, text] of files) expect(readFileSync(file, 'utf8')).toBe(text);
});
