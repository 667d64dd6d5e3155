import { describe, expect, test } from 'vitest';
import type { FieldDeclaration, FieldDeclarations } from '../../src/schema/descriptor.js';
import { checkFields, checkResolved, checkUserFields, fieldsJsonSchema } from '../../src/schema/fields.js';
import { passedReferences } from '../../src/schema/references.js';
import { formatProblem } from '../../src/schema/problem.js';
import type { Json, JsonObject } from '../../src/model/json.js';

const field = (type: FieldDeclaration['type'], more: Partial<FieldDeclaration> = {}): FieldDeclaration => ({
  title: 'Field',
  type,
  ...more,
});

const fields: FieldDeclarations = {
  admin: {
    endpoint: field('string', { default: 'https://x' }),
    apiKey: field('string', { secret: true }),
    token: field('text', { secret: true }),
    zone: field('string', { overridable: true, default: 'a' }),
    machines: field('list', { passReferences: true }),
  },
  user: {
    script: field('text'),
    size: field('select', { options: ['small', 'big'] }),
    password: field('string', { secret: true }),
    count: field('integer'),
  },
  required: { admin: [['apiKey'], ['endpoint', 'token']], user: [['script']] },
};

const problemsOf = (scope: 'admin' | 'user', values: JsonObject): readonly string[] =>
  checkFields({ fields }, scope, values, ['fields']).problems.map(formatProblem);

describe('fields', () => {
  test('that are unknown are refused, also where their value is an expression', () => {
    expect(problemsOf('user', { script: 'x', scrpt: '${{ var.x }}' })).toHaveLength(1);
  });

  test('get their defaults', () => {
    expect(checkFields({ fields }, 'admin', { apiKey: 'k' }, [])).toEqual({
      problems: [],
      values: { endpoint: 'https://x', zone: 'a', apiKey: 'k' },
    });
  });

  test('are required as alternatives', () => {
    expect(problemsOf('admin', { token: 't' })).toEqual([]);
    expect(problemsOf('admin', {})).toEqual([
      'fields: fields are missing. The plugin requires apiKey, or endpoint and token.',
    ]);
    expect(problemsOf('user', {})).toEqual(['fields.script: is missing. The plugin requires script.']);
    expect(problemsOf('user', { script: '' })).toHaveLength(1);
  });

  test('of administrators may be set by users only if they are overridable, and without their defaults', () => {
    expect(checkFields({ fields }, 'user', { script: 's', zone: 'b' }, [])).toEqual({
      problems: [],
      values: { script: 's', zone: 'b' },
    });
    expect(checkFields({ fields }, 'user', { script: 's' }, []).values).toEqual({ script: 's' });
    expect(problemsOf('user', { script: 's', endpoint: 'x' })).toEqual([
      'fields.endpoint: is an unknown key. Known: zone, script, size, password, count.',
    ]);
  });

  test('that are listed accept from users only values that the account permits', () => {
    const listed: FieldDeclarations = {
      admin: {
        network: field('string', { overridable: 'listed' }),
        groups: field('list', { overridable: 'listed' }),
        addresses: field('map', { overridable: 'listed' }),
      },
      user: {},
      required: { admin: [], user: [] },
    };
    const allow = { network: ['blue', 'green'], groups: ['a', 'b'], addresses: ['10.0.0.1'] };
    const said = (values: JsonObject, allowed?: typeof allow): readonly string[] =>
      checkFields({ fields: listed }, 'user', values, ['fields'], allowed).problems.map(formatProblem);
    expect(said({ network: 'blue', groups: ['b', 'a'], addresses: { 'app-1': '10.0.0.1' } }, allow)).toEqual(
      [],
    );
    expect(said({ network: 'host' }, allow)).toEqual([
      'fields.network: has a value that the administrator does not allow in cluster files. In heddle.yaml of the workers, `allow: {network: [...]}` of the provider account must list "host".',
    ]);
    expect(said({ network: 'blue' })).toHaveLength(1);
    expect(said({ network: { secret: 'env:NETWORK' } }, allow)).toHaveLength(1);
    expect(said({ groups: ['a', 'admins'] }, allow)).toHaveLength(1);
    expect(said({ addresses: { 'app-1': '10.0.0.1', 'app-2': '10.9.9.9' } }, allow)).toHaveLength(1);
    expect(checkFields({ fields: listed }, 'admin', { network: 'host' }, []).problems).toEqual([]);
  });

  test("that are texts or secrets may be references; users' secrets must be", () => {
    expect(problemsOf('admin', { apiKey: { secret: 'env:KEY' }, endpoint: { secret: 'file:/x' } })).toEqual(
      [],
    );
    expect(
      problemsOf('user', {
        script: { secret: 'vault:secret/data/x#y' },
        password: { secret: 'exec:pass show x' },
      }),
    ).toEqual([]);
    expect(problemsOf('user', { script: 's', count: { secret: 'env:N' } })).toHaveLength(1);
    expect(problemsOf('user', { script: { secret: 'shell:x' } })).toHaveLength(1);
    const [problem] = problemsOf('user', { script: 's', password: 'hunter2' });
    expect(problem).toContain('fields.password');
    expect(problem).toContain('{secret: "env:NAME"}');
  });

  test('refuse references without a known scheme at any depth, unless an expression may contain it', () => {
    const declared = {
      fields: {
        admin: {},
        user: {
          text: field('text'),
          secret: field('text'),
          password: field('text', { secret: true }),
          data: field('map'),
        },
        required: { admin: [], user: [] },
      },
    };
    const said = (values: JsonObject): readonly string[] =>
      checkFields(declared, 'user', values, ['fields']).problems.map(formatProblem);
    const rule = 'is not a valid reference. Must be env:NAME, file:PATH, exec:COMMAND or vault:PATH#FIELD.';
    expect(said({ text: { secret: 'X' } })).toEqual([`fields.text: ${rule}`]);
    expect(said({ password: { secret: 'X' } })).toEqual([`fields.password: ${rule}`]);
    expect(said({ data: { a: [{ secret: 'X' }], secret: { secret: 'env:' } } })).toEqual([
      `fields.data.a[0]: ${rule}`,
      `fields.data.secret: ${rule}`,
    ]);
    expect(said({ data: { a: { secret: 'env:A' }, b: { secret: '${{ var.b }}' } } })).toEqual([]);
    expect(said({ secret: 'X' })).toEqual([]);
    expect(checkFields({}, 'user', { a: [{ secret: 'X' }] }, []).problems).toHaveLength(1);
  });

  test('that are secret are never quoted in a problem', () => {
    expect(problemsOf('user', { script: 's', password: 'hunter2' }).join('')).not.toContain('hunter2');
    expect(problemsOf('admin', { apiKey: 31337 }).join('')).not.toContain('31337');
    expect(problemsOf('user', { script: 's', password: { secret: 'hunter2' } }).join('')).not.toContain(
      'hunter2',
    );
  });

  test('that are unknown are named with a suggestion', () => {
    expect(problemsOf('user', { scirpt: 'x', script: 's' })).toEqual([
      'fields.scirpt: is an unknown key. Did you mean "script"?',
    ]);
  });

  test.each<readonly [FieldDeclaration['type'], Json, Json]>([
    ['string', 'a', 'a\nb'],
    ['text', 'a\nb', 3],
    ['number', 1.5, '1'],
    ['integer', 3, 1.5],
    ['boolean', false, 'no'],
    ['list', [1, 'a'], 'a'],
    ['map', { a: 1 }, []],
    ['duration', '10m', 'soon'],
    ['duration', 30, -1],
  ])('of type %s take %j and refuse %j', (type, good, bad) => {
    const declared = { fields: { admin: {}, user: { it: field(type) }, required: { admin: [], user: [] } } };
    expect(checkFields(declared, 'user', { it: good }, []).problems).toEqual([]);
    expect(checkFields(declared, 'user', { it: bad }, []).problems.map(({ path }) => path)).toEqual([['it']]);
  });

  test('that are missing are reported with invalid ones, unless an unknown key may be meant', () => {
    const declared = {
      fields: {
        admin: { a: field('string'), b: field('integer'), c: { ...field('string'), default: 'x' } },
        user: {},
        required: { admin: [['a', 'c']], user: [] },
      },
    };
    const places = (values: object): readonly string[] =>
      checkFields(declared, 'admin', values as JsonObject, []).problems.map(({ path }) => path.join('.'));
    expect(places({ b: 'no number' })).toEqual(['b', 'a']);
    expect(places({ aa: 'x', b: 'no number' })).toEqual(['b', 'aa']);
  });

  test('with options accept only these', () => {
    expect(problemsOf('user', { script: 's', size: 'smal' })).toEqual([
      'fields.size: "smal" is not allowed. Did you mean "small"?',
    ]);
  });

  test('of a plugin that declares none are accepted unchanged', () => {
    expect(checkFields({}, 'user', { anything: [1] }, [])).toEqual({
      problems: [],
      values: { anything: [1] },
    });
  });

  test('have a JSON Schema for forms and editors, in which secrets are writeOnly', () => {
    expect(fieldsJsonSchema({ fields }, 'admin')).toMatchObject({
      type: 'object',
      additionalProperties: false,
      properties: { apiKey: { title: 'Field', writeOnly: true }, endpoint: { default: 'https://x' } },
    });
  });

  test.each([
    [[], {}],
    [[['a', 'b']], { required: ['a', 'b'] }],
    [[['a', 'b'], ['c']], { anyOf: [{ required: ['a', 'b'] }, { required: ['c'] }] }],
    [[['a', 'filled']], { required: ['a'] }],
    [[['a'], ['filled']], {}],
  ])('required as %j are so in their JSON Schema', (admin, expected) => {
    const keys = {
      a: field('string'),
      b: field('string'),
      c: field('string'),
      filled: { ...field('string'), default: 'x' },
    };
    const { required, anyOf } = fieldsJsonSchema(
      { fields: { admin: keys, user: {}, required: { admin, user: [] } } },
      'admin',
    ) as Record<string, unknown>;
    expect({ required, anyOf }).toEqual(expected);
  });

  test('of a plugin that declares none may be anything in their JSON Schema', () => {
    expect(fieldsJsonSchema({}, 'admin')).toMatchObject({
      type: 'object',
      properties: {},
      additionalProperties: {},
    });
  });

  test('declare which references the plugin passes on', () => {
    expect(passedReferences({ fields })).toEqual(['machines']);
  });
});

describe('rules of a plugin', () => {
  const declared = {
    fields: {
      admin: { zone: { title: 'Zone', type: 'string' as const, description: 'One zone.' } },
      user: { subnet: { title: 'Subnet', type: 'string' as const } },
      required: { admin: [], user: [] },
    },
    rules: ({ zone, subnet }: JsonObject) => [
      ...(zone === 'bad' ? [{ path: ['zone'], wrong: 'is bad' }] : []),
      ...(zone !== undefined && subnet !== undefined ? [{ path: ['subnet'], wrong: 'excludes zone' }] : []),
    ],
  };
  const wrong = (account: JsonObject, values: JsonObject) =>
    checkUserFields(declared, { fields: account }, values, ['fields']).map(formatProblem);

  test('apply to the account, with the description of the field', () => {
    expect(checkFields(declared, 'admin', { zone: 'bad' }, ['fields']).problems.map(formatProblem)).toEqual([
      'fields.zone: is bad. One zone.',
    ]);
  });

  test("apply to a user's fields over those of the account, whose own faults are not the user's", () => {
    expect(wrong({ zone: 'a' }, { subnet: 's' })).toEqual(['fields.subnet: excludes zone']);
    expect(wrong({}, { subnet: 's' })).toEqual([]);
    expect(wrong({ zone: 'bad' }, {})).toEqual([]);
  });

  test('apply to references within a value only when they are resolved', () => {
    const nested = {
      fields: {
        admin: { machines: { title: 'Machines', type: 'list' as const } },
        user: {},
        required: { admin: [], user: [] },
      },
      rules: ({ machines }: JsonObject) =>
        (machines as readonly JsonObject[]).flatMap(({ name, env }, index) => [
          ...(typeof name === 'string'
            ? []
            : [{ path: ['machines', index, 'name'], wrong: 'is not a name' }]),
          ...(typeof (env as JsonObject)['PASSWORD'] === 'string'
            ? []
            : [{ path: ['machines', index, 'env', 'PASSWORD'], wrong: 'is not text' }]),
        ]),
    };
    const values = { machines: [{ name: 7, env: { PASSWORD: { secret: 'env:PASSWORD' } } }] };
    expect(checkFields(nested, 'admin', values, ['fields']).problems.map(formatProblem)).toEqual([
      expect.stringContaining('fields.machines[0].name: is not a name'),
    ]);
  });

  test('apply to expressions only when they are resolved', () => {
    expect(wrong({ zone: 'a' }, { subnet: '${{ var.subnet }}' })).toEqual([]);
    const values = { zone: 'a', subnet: 's' };
    expect(checkResolved(declared, ['admin', 'user'], values, ['fields']).map(formatProblem)).toEqual([
      'fields.subnet: excludes zone',
    ]);
  });
});
