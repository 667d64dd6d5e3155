import { describe, expect, test } from 'vitest';
import { parseSpec } from '../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../src/schema/problem.js';
import { fc } from '../../harness/property.js';

interface Parts {
  readonly name?: string;
  readonly nodes?: Readonly<Record<string, unknown>>;
  readonly services?: Readonly<Record<string, unknown>>;
}

function problemsOf({
  name = 'web',
  nodes = { app: { count: 1, provider: 'p', services: ['s'] } },
  services = { s: {} },
}: Parts): readonly string[] {
  const reading = parseSpec({ name, nodes, services });
  return (reading.ok ? reading.warnings : reading.problems).map(formatProblem);
}

const group = (services: readonly string[], count = 1): object => ({ count, provider: 'p', services });

describe('names', () => {
  test.each([
    '',
    '-a',
    'a-',
    'A',
    'a_b',
    'a b',
    'a\n',
    'a\u0000',
    '..',
    'a/b',
    '$(id)',
    '`id`',
    'a;b',
    '-oProxyCommand=x',
    '\u202Ea',
    '\u00e9',
    '::1',
    'a'.repeat(64),
  ])('%j names no cluster, group or service', (name) => {
    expect(parseSpec({ name, nodes: { app: group([]) } }).ok).toBe(false);
    expect(problemsOf({ nodes: { [name]: group([]) }, services: {} })).toHaveLength(1);
    expect(problemsOf({ services: { s: {}, [name]: {} } })).toHaveLength(1);
  });

  test('a group cannot have the name of a node of another group', () => {
    expect(problemsOf({ nodes: { app: group(['s']), 'app-1': group(['s']) } })).toEqual([
      'nodes.app-1: the name of a group must not end in a hyphen and a number, like the name of a node. Rename the group.',
    ]);
  });

  test('a group whose hostnames would be too long is refused', () => {
    expect(problemsOf({ name: 'c'.repeat(40), nodes: { ['g'.repeat(16)]: group(['s']) } })).toEqual([]);
    expect(problemsOf({ name: 'c'.repeat(40), nodes: { ['g'.repeat(17)]: group(['s']) } })).toEqual([
      expect.stringContaining('would have 64 characters; the limit is 63'),
    ]);
  });
});

describe('counts', () => {
  test.each([0, -1, 1.5, 1e9, '3', null, true, Number.NaN, 10_001])('%j is refused as a count', (count) => {
    expect(problemsOf({ nodes: { app: { count, provider: 'p', services: ['s'] } } })).toEqual([
      expect.stringContaining('nodes.app.count'),
    ]);
  });

  test('all groups together are limited', () => {
    expect(problemsOf({ nodes: { a: group(['s'], 9_999), b: group([]) } })).toEqual([]);
    expect(problemsOf({ nodes: { a: group(['s'], 9_999), b: group([], 2) } })).toEqual([
      'nodes: has 10001 nodes in total; the limit of a cluster is 10000',
    ]);
  });

  test('a minimum above the count, and no group at all, are refused', () => {
    expect(problemsOf({ nodes: { app: { ...group(['s'], 2), minimum: 3 } } })).toEqual([
      expect.stringContaining('nodes.app.minimum: is 3, but must be at most the count, 2'),
    ]);
    expect(problemsOf({ nodes: {}, services: {} })).toEqual([
      expect.stringContaining('nodes: {} has no group of nodes'),
    ]);
  });
});

describe('services', () => {
  test.each([
    [
      'a group names an unknown service',
      { services: { web: {} }, nodes: { app: group(['wbe']) } },
      [
        'nodes.app.services[0]: service wbe is not defined. Did you mean "web"?',
        expect.stringContaining('services.web: no group of nodes'),
      ],
    ],
    [
      'a group names a service twice',
      { nodes: { app: group(['s', 's']) } },
      ['nodes.app.services[1]: lists service s twice. Remove one of them.'],
    ],
    [
      'a group names what only objects have',
      { nodes: { app: group(['s', 'constructor', 'constructor']) } },
      [expect.stringContaining('service constructor is not defined'), expect.stringContaining('twice')],
    ],
    [
      'a need that no service provides',
      { services: { s: { requires: ['databse'] }, d: { provides: ['database'] } } },
      [
        'services.s.requires: no service is named databse or provides it. Did you mean "database"?',
        expect.stringContaining('services.d: no group of nodes'),
      ],
    ],
    [
      'a need that is on no node',
      { services: { s: { runtime: { requires: ['db'] } }, d: { provides: ['db'] } } },
      [
        'services.s.runtime.requires: db is on no node. Add d to the services of a group.',
        expect.stringContaining('services.d'),
      ],
    ],
    ['what is used may be absent', { services: { s: { install: { uses: ['nothing'] } } } }, []],
    [
      'conflicts on one node, by what is provided',
      {
        services: { s: { conflicts: ['web'] }, t: { provides: ['web'] } },
        nodes: { app: group(['s', 't']) },
      },
      [
        'nodes.app.services[1]: t conflicts with s, which is on the same nodes. Move one of them to another group.',
      ],
    ],
    [
      'conflicts on different nodes are fine',
      { services: { s: { conflicts: ['t'] }, t: {} }, nodes: { app: group(['s']), b: group(['t']) } },
      [],
    ],
    [
      'a circle',
      {
        services: {
          a: { requires: ['x'] },
          b: { provides: ['x'], requires: ['c'] },
          c: { runtime: { uses: ['a'] }, install: { requires: ['a'] } },
        },
        nodes: { app: group(['a', 'b', 'c']) },
      },
      [
        'services.a: services have circular dependencies: a -> b -> c -> a. Remove one of these dependencies.',
      ],
    ],
    [
      'a service that requires itself',
      { services: { s: { install: { requires: ['s'] } } } },
      [expect.stringContaining('circular dependencies: s -> s')],
    ],
    [
      'install one way and runtime the other is not a circle',
      {
        services: { s: { install: { requires: ['t'] } }, t: { runtime: { requires: ['s'] } } },
        nodes: { app: group(['s', 't']) },
      },
      [],
    ],
    [
      'a restart without the actions for it',
      { services: { s: { onPeersChange: 'restart', actions: { start: { type: 'shell' } } } } },
      [
        'services.s.onPeersChange: is restart, but the service has no action configure. Add actions.configure, or set onPeersChange: nothing.',
      ],
    ],
    [
      'a timeout that is none',
      { services: { s: { actions: { start: { type: 'shell', timeout: '10 minutes' } } } } },
      [expect.stringContaining('services.s.actions.start.timeout: "10 minutes" is not a duration')],
    ],
    [
      'a file that is not readable',
      { services: { s: { actions: { start: { type: 'shell', fields: { script: { file: 'a.sh' } } } } } } },
      [
        expect.stringContaining(
          'services.s.actions.start.fields.script: names a file, which workers cannot read',
        ),
      ],
    ],
  ] as const)('%s', (_, parts, expected) => {
    expect(problemsOf(parts)).toEqual(expected);
  });
});

describe('parseSpec', () => {
  test('accepts its own result and returns the same', () => {
    const first = parseSpec({
      name: 'web',
      nodes: {
        app: {
          count: 1,
          provider: 'p',
          services: ['s'],
          confirmWithin: '5m',
          minimum: 1,
          alternatives: [{ provider: 'q', image: 'i' }],
        },
      },
      services: {
        s: {
          requires: [],
          actions: { start: { type: 'shell', timeout: 3, attempts: 2, permanentExitCodes: [4] } },
        },
      },
    });
    expect(first.ok).toBe(true);
    expect(parseSpec(first.ok && first.spec)).toEqual(first);
  });

  test('checks a normalised spec as strictly', () => {
    const first = parseSpec({ name: 'web', nodes: { app: { count: 1, provider: 'p' } } });
    const broken = { ...(first.ok ? first.spec : {}), nodes: { app: { count: 0, provider: 'p', extra: 1 } } };
    const reading = parseSpec(broken);
    expect(reading.ok ? [] : reading.problems.map(formatProblem)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('nodes.app.extra: is an unknown key'),
        expect.stringContaining('nodes.app.count: is 0'),
      ]),
    );
  });

  test('reports at most 100 problems, errors first', () => {
    const services = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`s${index}`, { requires: ['absent'] }]),
    );
    const reading = parseSpec({ name: 'web', nodes: { app: { count: 1, provider: 'p' } }, services });
    expect(reading.ok ? [] : reading.problems.map(({ severity }) => severity)).toEqual(
      Array.from({ length: 100 }, () => 'error'),
    );
    const unknown = parseSpec({
      name: 'web',
      nodes: { app: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 1])) },
    });
    expect(unknown.ok ? 0 : unknown.problems.length).toBe(100);
  });

  test('never throws for any input', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withNullPrototype: true,
          withObjectString: true,
          withSparseArray: true,
        }),
        (value) => {
          const reading = parseSpec(value);
          expect(reading.ok || reading.problems.length > 0).toBe(true);
        },
      ),
    );
  });

  test('never throws for spec-like input, and accepts again what it accepts', () => {
    const word = fc.constantFrom('a', 'b', 'a-1', 'constructor', 'x', '');
    const list = fc.array(word, { maxLength: 3 });
    const needs = fc.record({ requires: list, uses: list }, { requiredKeys: [] });
    const service = fc.record(
      {
        requires: list,
        provides: list,
        conflicts: list,
        install: needs,
        runtime: needs,
        peers: fc.constantFrom('all', 'none', 'x'),
      },
      { requiredKeys: [] },
    );
    const nodes = fc.dictionary(
      word,
      fc.record({ count: fc.constantFrom(0, 1, 3), provider: word, services: list }),
      { maxKeys: 3 },
    );
    fc.assert(
      fc.property(
        fc.record({ name: word, nodes, services: fc.dictionary(word, service, { maxKeys: 4 }) }),
        (value) => {
          const reading = parseSpec(value);
          if (reading.ok) expect(parseSpec(reading.spec)).toEqual(reading);
          else expect(reading.problems.map(formatProblem).join('')).not.toBe('');
        },
      ),
      { numRuns: 300 },
    );
  });
});
