import { RE2JS } from 're2js';
import { describe, expect, test, vi } from 'vitest';
import type { Json, JsonObject } from '../../src/model/json.js';
import type { FieldDeclaration, FieldDeclarations } from '../../src/schema/descriptor.js';
import { checkDeclaredConstraints, matchesPattern } from '../../src/schema/field-constraints.js';
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
    ['a length', field('string', { min: 2, max: 3 }), 'äöü', 'abcd', '"abcd" has more than 3 characters'],
    ['a text that is not empty', field('text', { min: 1 }), 'a', '', '"" is empty'],
    ['a number of entries', field('list', { min: 2 }), [1, 2], [1], 'has fewer than 2 entries'],
    ['a list that is not empty', field('list', { min: 1 }), [1], [], '[] is empty'],
    ['a size of a map', field('map', { max: 1 }), { a: 1 }, { a: 1, b: 2 }, 'has more than 1 entries'],
    ['items of text', field('list', { items: { type: 'string' } }), ['a'], ['a', 1], 'fields.it[1]'],
    [
      'a pattern of items',
      field('list', { items: { type: 'string', pattern: '[a-z]+' } }),
      ['a', 'b'],
      ['a', 'B'],
      'fields.it[1]: "B" does not match [a-z]+',
    ],
    [
      'values of a map',
      field('map', { items: { type: 'integer', max: 3 } }),
      { a: 3 },
      { a: 4 },
      'fields.it.a: 4 is more than 3',
    ],
    [
      'scalars',
      field('map', { items: { type: 'scalar' } }),
      { a: 'x', b: 1, c: true },
      { a: [] },
      'fields.it.a: ',
    ],
    [
      'commands',
      field('map', { items: { type: 'list', min: 1 } }),
      { run: ['sh', '-c'] },
      { run: [] },
      'fields.it.run: [] is empty',
    ],
    [
      'options of items',
      field('list', { items: { type: 'select', options: ['a', 'b'] } }),
      ['a'],
      ['c'],
      'fields.it[0]: ',
    ],
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
          expect.stringMatching(/^fields\.it[:.[]/),
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

  test('values of another kind are found when they are resolved, and are not quoted', () => {
    const fields = {
      size: field('integer'),
      keys: field('list', { items: { type: 'string', pattern: '[a-z]+' } }),
    };
    const wrong = (values: JsonObject) =>
      checkResolved(declare(fields), ['user'], values, ['fields']).map(formatProblem);
    expect(wrong({ size: '4', keys: ['a'] })).toEqual(['fields.size: its value is not a whole number']);
    expect(wrong({ keys: ['a', 1] })).toEqual(['fields.keys[1]: its value is not one line of text']);
    expect(wrong({ keys: ['A'] })).toEqual(['fields.keys[0]: its value does not match [a-z]+']);
    expect(wrong({ size: 4, keys: ['a'] })).toEqual([]);
  });

  test('items may be references and expressions until they are resolved', () => {
    const fields = {
      keys: field('list', { items: { type: 'string', pattern: '[a-z]+' } }),
      ports: field('list', { items: { type: 'integer', max: 9 } }),
    };
    const values = { keys: [{ secret: 'env:KEY' }, '${{ var.key }}'], ports: [1, '${{ var.port }}'] };
    expect(problemsOf(fields, values, 'user')).toEqual([]);
  });

  test('faulty constraints are errors of the descriptor', () => {
    const wrong = (declared: FieldDeclaration) =>
      checkDeclaredConstraints('user', { it: declared }).map(formatProblem);
    expect(wrong(field('boolean', { min: 1 }))).toHaveLength(1);
    expect(wrong(field('string', { min: 1.5 }))).toEqual(['fields.user.it.min: must be a whole number']);
    expect(wrong(field('string', { items: { type: 'string' } }))).toEqual([
      'fields.user.it.items: applies only to the types list, map, but the type is string',
    ]);
    expect(wrong(field('list', { items: { type: 'integer', pattern: 'a' } }))).toHaveLength(1);
    expect(wrong(field('list', { items: { type: 'select' } }))).toHaveLength(1);
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
      keys: field('list', { min: 1, items: { type: 'string', max: 9 } }),
      wait: field('duration', { min: '1s' }),
      auth: field('select', { options: ['x', 'y'], default: 'x' }),
      password: field('string', { requiredWhen: { auth: ['x'], name: 'given' } }),
    };
    expect(fieldsJsonSchema(declare({}, fields), 'admin')).toMatchObject({
      properties: {
        port: { minimum: 1, maximum: 9 },
        name: { pattern: '^(?:a|b)$' },
        keys: { minItems: 1, items: { maxLength: 9 } },
      },
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
