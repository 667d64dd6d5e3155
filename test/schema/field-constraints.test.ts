import { RE2JS } from 're2js';
import { describe, expect, test, vi } from 'vitest';
import type { Json, JsonObject } from '../../src/model/json.js';
import type { FieldDeclaration, FieldDeclarations } from '../../src/schema/descriptor.js';
import { matchesPattern } from '../../src/schema/field-constraints.js';
import { checkFields, checkResolved, fieldsJsonSchema } from '../../src/schema/fields.js';
import { formatProblem } from '../../src/schema/problem.js';

const field = (type: FieldDeclaration['type'], more: Partial<FieldDeclaration> = {}): FieldDeclaration => ({
  title: 'Field',
  type,
  ...more,
});

const declare = (user: FieldDeclarations['user'], admin: FieldDeclarations['admin'] = {}) => ({
  fields: { admin, user, required: { admin: [], user: [] } },
});

const problemsOf = (
  fields: FieldDeclarations['admin'],
  values: JsonObject,
  scope: 'admin' | 'user' = 'admin',
): readonly string[] =>
  checkFields(scope === 'admin' ? declare({}, fields) : declare(fields), scope, values, [
    'fields',
  ]).problems.map(formatProblem);

describe('constraints of fields', () => {
  test.each<readonly [string, FieldDeclaration, Json, Json, string]>([
    ['a minimum', field('integer', { min: 1 }), 1, 0, '0 is less than 1'],
    ['a maximum', field('number', { max: 1.5 }), 1.5, 1.6, '1.6 is more than 1.5'],
    ['a minimum of time', field('duration', { min: '30s' }), '1m', '29s', '"29s" is less than 30s'],
    ['a maximum of time', field('duration', { max: '2m' }), 120, 121, '121 is more than 2m'],
    ['a pattern', field('string', { pattern: 'i-[0-9a-f]+' }), 'i-0a', 'i-0a;', '"i-0a;" does not match'],
    ['a pattern with alternatives', field('text', { pattern: 'a|b' }), 'b', 'ab', '"ab" does not match a|b'],
    [
      'a pattern of an address',
      field('url', { pattern: 'https://.*/v3' }),
      'https://x.example/v3',
      'https://x.example/v2',
      'does not match https://.*/v3',
    ],
  ])(
    '%s accepts and refuses whole values, and its message names the field, the value and the rule',
    (...row) => {
      const [, declared, good, bad, message] = row;
      for (const scope of ['admin', 'user'] as const) {
        expect(problemsOf({ it: declared }, { it: good }, scope)).toEqual([]);
        expect(problemsOf({ it: declared }, { it: bad }, scope)).toEqual([
          expect.stringMatching(/^fields\.it: /),
        ]);
        expect(problemsOf({ it: declared }, { it: bad }, scope)[0]).toContain(message);
      }
    },
  );

  test('a secret that breaks a rule is never quoted', () => {
    const fields = { key: field('string', { secret: true, pattern: '[a-z]{24,}' }) };
    expect(problemsOf(fields, { key: 'hunter2' })).toEqual([
      'fields.key: (a secret) does not match [a-z]{24,}',
    ]);
    expect(problemsOf(fields, { key: { secret: 'env:KEY' } })).toEqual([]);
  });

  test('values of references and expressions are checked when they are resolved, and are not quoted', () => {
    const fields = { name: field('string', { pattern: '[a-z]+' }), size: field('integer', { max: 3 }) };
    expect(problemsOf(fields, { name: '${{ var.name }}', size: '${{ var.size }}' }, 'user')).toEqual([]);
    expect(problemsOf(fields, { name: 'web-${{ var.name }}' }, 'user')).toEqual([]);
    const resolved = { name: 'WEB', size: 4 };
    const problems = checkResolved(declare(fields), ['user'], resolved, ['fields']).map(formatProblem);
    expect(problems).toEqual([
      'fields.name: its value does not match [a-z]+',
      'fields.size: its value is more than 3',
    ]);
    expect(checkResolved(declare(fields), ['user'], { name: '${{ x }}' }, ['fields'])).toHaveLength(1);
  });

  test('constraints of an overridable field hold for users too', () => {
    const admin = { port: field('integer', { overridable: true, min: 1 }) };
    expect(checkFields(declare({}, admin), 'user', { port: 0 }, []).problems).toHaveLength(1);
  });

  test('a broken rule is reported beside values of another kind', () => {
    const fields = { port: field('integer', { max: 65_535 }), size: field('integer') };
    expect(problemsOf(fields, { port: 70_000, size: 'big' })).toHaveLength(2);
  });

  test('a pattern that would stall a backtracking engine takes no time', () => {
    const fields = { it: field('string', { pattern: '(a+)+b' }) };
    expect(problemsOf(fields, { it: `${'a'.repeat(9_000)}!` })).toHaveLength(1);
  });

  describe('requiredWhen', () => {
    const fields = {
      auth: field('select', { options: ['password', 'key'], default: 'key' }),
      tls: field('boolean'),
      password: field('string', { secret: true, requiredWhen: { auth: ['password'] } }),
      key: field('text', { requiredWhen: { auth: ['key'], tls: [true] } }),
      cert: field('text', { requiredWhen: { password: 'given' } }),
    };

    test.each<readonly [JsonObject, readonly string[]]>([
      [{}, []],
      [{ tls: true }, ['key']],
      [{ tls: true, key: '' }, ['key']],
      [{ tls: true, key: 'k' }, []],
      [{ auth: 'password' }, ['password']],
      [{ auth: 'password', password: 'p' }, ['cert']],
      [{ password: { secret: 'env:P' } }, ['cert']],
      [{ tls: true, key: { secret: 'file:/k' } }, []],
    ])('with %j reports %j as missing', (values, missing) => {
      expect(
        checkFields(declare({}, fields), 'admin', values, []).problems.map(({ path }) => path[0]),
      ).toEqual(missing);
    });

    test('says which values require the field', () => {
      expect(problemsOf(fields, { tls: true })).toEqual([
        'fields.key: is missing. It is required when auth is key, and tls is true.',
      ]);
    });
  });

  test('constraints are keywords of the JSON Schema', () => {
    const fields = {
      port: field('integer', { min: 1, max: 9 }),
      name: field('string', { pattern: 'a|b' }),
      wait: field('duration', { min: '1s' }),
      auth: field('select', { options: ['x', 'y'], default: 'x' }),
      password: field('string', { requiredWhen: { auth: ['x'], name: 'given' } }),
    };
    expect(fieldsJsonSchema(declare({}, fields), 'admin')).toMatchObject({
      properties: { port: { minimum: 1, maximum: 9 }, name: { pattern: '^(?:a|b)$' } },
      allOf: [
        {
          if: { properties: { auth: { enum: ['x'] } }, required: ['name'] },
          then: { required: ['password'] },
        },
      ],
    });
  });
});

test('compiled patterns are kept while they are in use, and not without end', () => {
  const compile = vi.spyOn(RE2JS, 'compile');
  const timesOf = (pattern: string): number => compile.mock.calls.filter(([text]) => text === pattern).length;
  for (let index = 0; index < 1_000; index += 1) {
    expect(matchesPattern(`cluster${index}`, `cluster${index}`)).toBe(true);
    expect(matchesPattern('used', 'used')).toBe(true);
  }
  expect(matchesPattern('cluster0', 'cluster0')).toBe(true);
  expect([timesOf('used'), timesOf('cluster0')]).toEqual([1, 2]);
  compile.mockRestore();
});
