import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkDescriptor, descriptorSchema, fillDescriptor } from '../../src/schema/descriptor.js';
import { fieldTypes } from '../../src/schema/descriptor-field.js';

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/plugins/descriptor.md'), 'utf8');
const fieldSchema = descriptorSchema.shape.fields.unwrap().shape.admin.unwrap().valueType;

test.each([
  ['key', Object.keys(descriptorSchema.shape)],
  ['key of a field', Object.keys(fieldSchema.shape)],
  ['type of a field', [...fieldTypes]],
])('the page about descriptors names every %s', (_, names) => {
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('the descriptor on that page is valid', () => {
  const [, example = ''] = /```json\n([^`]*)```/.exec(page) ?? [];
  const parsed = descriptorSchema.parse(JSON.parse(example));
  expect(checkDescriptor(fillDescriptor(parsed))).toEqual([]);
});
