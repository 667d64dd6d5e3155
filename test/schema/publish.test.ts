import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readConfigFile } from '../../src/schema/read-config.js';
import { formatProblem } from '../../src/schema/problem.js';
import { publishedOutputSchemas, publishedSchemas } from '../../src/schema/publish.js';
import { loadSpecFile, readSpecFile } from '../../src/schema/cluster/read.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Every value of `key` in a schema, however deep. */
function collect(schema: unknown, key: string): readonly unknown[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, value]) => [
    ...(name === key ? [value as unknown] : []),
    ...collect(value, key),
  ]);
}

/** Objects that a person writes must say what they are, or editors show nothing. */
function undescribed(schema: unknown, path = ''): readonly string[] {
  if (
    typeof schema !== 'object' ||
    schema === null ||
    !('properties' in schema) ||
    typeof schema.properties !== 'object' ||
    schema.properties === null
  )
    return [];
  return Object.entries(schema.properties).flatMap(([key, value]: [string, unknown]) => {
    const described =
      typeof value === 'object' && value !== null && 'title' in value && 'description' in value;
    const additional: unknown =
      typeof value === 'object' && value !== null && 'additionalProperties' in value
        ? value.additionalProperties
        : undefined;
    return [
      ...(described ? [] : [`${path}${key}`]),
      ...undescribed(value, `${path}${key}.`),
      ...undescribed(additional, `${path}${key}.*.`),
    ];
  });
}

describe('the published JSON Schemas', () => {
  const schemas = Object.entries(publishedSchemas());
  const outputs = Object.entries(publishedOutputSchemas());

  test.each([...schemas, ...outputs])(
    '%s matches the code (else: npm run build && node dist/schema/publish.js schemas)',
    (name, text) => {
      expect(readFileSync(join(root, 'schemas', name), 'utf8')).toBe(text);
    },
  );

  test.each(schemas)('%s gives every key a title and a description, and no unknown keys', (_, text) => {
    const schema: unknown = JSON.parse(text);
    expect(undescribed(schema)).toEqual([]);
    expect(collect(schema, 'additionalProperties')).toContain(false);
  });

  test.each(outputs)('%s names its version, and allows the members of later releases', (name, text) => {
    const schema: unknown = JSON.parse(text);
    expect(schema).toMatchObject({
      $id: `urn:heddle:output:v1:${/([a-z-]+)\.schema\.json$/.exec(name)?.[1]}`,
    });
    expect(collect(schema, 'schemaVersion')).toContainEqual(expect.objectContaining({ const: 1 }));
    expect(collect(schema, 'additionalProperties')).not.toContain(false);
  });
});

describe('documents', () => {
  const blocks = (file: string): readonly string[] =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
      ([, text]) => text ?? '',
    );

  test('show valid cluster files', () => {
    const found = blocks('docs/reference/cluster-file.md');
    expect(found.length).toBeGreaterThan(0);
    for (const text of found) {
      const reading = readSpecFile(text, 'cluster-file.md');
      expect(reading.ok ? reading.warnings.map(formatProblem) : reading.problems.map(formatProblem)).toEqual(
        [],
      );
    }
  });

  test('show valid configurations', () => {
    const found = blocks('docs/reference/configuration.md');
    expect(found.length).toBeGreaterThan(0);
    for (const text of found) expect(readConfigFile(text, 'configuration.md')).toMatchObject({ ok: true });
  });
});

describe('examples', () => {
  const folder = join(root, 'examples');
  const files = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'heddle.yaml')
    : [];

  test('are valid', () => {
    for (const name of files) {
      const reading = loadSpecFile(join(folder, name));
      expect({ name, problems: reading.ok ? [] : reading.problems.map(formatProblem) }).toEqual({
        name,
        problems: [],
      });
    }
  });

  test('have at most 60 lines each', () => {
    for (const name of files)
      expect(readFileSync(join(folder, name), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  });

  test('are each carried out by a test', () => {
    const tests = readdirSync(join(root, 'test/examples'));
    expect(files.filter((name) => !tests.includes(name.replace('.yaml', '.real.test.ts')))).toEqual([]);
  });
});
