import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/model/json.js';
import { keyRows } from '../../src/cli/reference/keys.js';
import { fillSections } from '../../src/cli/reference/generated-sections.js';

const root = join(import.meta.dirname, '..', '..');
const pages = execFileSync('git', ['ls-files', 'docs/*.md'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
  .map((page) => ({ page, text: readFileSync(join(root, page), 'utf8') }))
  .filter(({ text }) => text.includes('\n<!-- end -->'));

describe('parts of pages that the code declares', () => {
  test.each(pages)('of $page are those of the last build: npm run build', ({ text }) => {
    expect(text).toBe(fillSections(text));
  });

  test('are replaced between their marks', () => {
    const page = '# Codes\n\n<!-- error-codes -->\nold\n<!-- end -->\n\nText.\n';
    expect(fillSections(page)).toMatch(
      /^# Codes\n\n<!-- error-codes -->\n\n\| .*\n\n<!-- end -->\n\nText\.\n$/s,
    );
    expect(fillSections(page)).not.toContain('old');
    expect(() => fillSections('<!-- nonsense -->\n<!-- end -->\n')).toThrow('nonsense');
  });
});

test('keys of a schema have their type, default and meaning', () => {
  const entry: JsonObject = {
    type: 'object',
    title: 'Entry',
    properties: {
      wait: { anyOf: [{ type: 'string', pattern: '^(?:\\d+(?:ms|s|m|h|d))+$' }, { type: 'number' }] },
    },
  };
  const schema: JsonObject = {
    type: 'object',
    required: ['count'],
    properties: {
      count: { type: 'integer', minimum: 1, maximum: 9, description: 'How many | of them.' },
      mode: { enum: ['a', 'b'], default: 'a', description: 'Mode.' },
      where: { type: 'string', description: 'Place. Default: here.' },
      first: { type: 'object', additionalProperties: entry },
      second: { type: 'array', items: entry },
    },
  };
  expect(keyRows(schema).map(({ path, type, fallback, meaning }) => [path, type, fallback, meaning])).toEqual(
    [
      ['count', 'integer, 1 to 9', 'required', String.raw`How many \| of them.`],
      ['mode', '`a`, `b`', '`a`', 'Mode.'],
      ['where', 'text', 'here', 'Place.'],
      ['first', 'map of object', '', ''],
      ['first.<entry>.wait', 'duration', '', ''],
      ['second', 'as `first`', '', ''],
    ],
  );
});
