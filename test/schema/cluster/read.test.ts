import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { formatProblem } from '../../../src/schema/problem.js';
import { loadSpecFile, readSpecFile } from '../../../src/schema/cluster/read.js';
import { fc } from '../../harness/property.js';
import { newFolder } from '../../harness/folder.js';

let folder: string;
beforeAll(() => {
  folder = newFolder();
});

/** The problems as a person sees them, one line each. */
function problemsOf(text: string): readonly string[] {
  const reading = readSpecFile(text, 'cluster.yaml');
  return (reading.ok ? reading.warnings : reading.problems).map(formatProblem);
}

const good = `
name: web
nodes:
  app: {count: 2, provider: local, services: [web]}
  db:
    count: 1
    provider: local
    hardware: big
    image: host
    confirmWithin: 5m
    services: [postgres]
    alternatives: [{provider: other}]
services:
  web:
    requires: [database]
    actions:
      configure: {type: shell, fields: {script: echo}}
      start: {type: shell, fields: {script: run}, timeout: 1h30m, attempts: 3, permanentExitCodes: [2]}
  postgres: {provides: [database], peers: none}
config: {port: 80}
`;

describe('a spec file', () => {
  test('is normalised: defaults filled in, short forms written out', () => {
    const reading = readSpecFile(good, 'cluster.yaml');
    expect(reading).toMatchObject({ ok: true, warnings: [] });
    expect(reading.ok && reading.spec).toEqual({
      name: 'web',
      config: { port: 80 },
      onFailure: 'hold',
      repair: {
        gone: 'replace',
        stopped: 'nothing',
        unreachable: 'nothing',
        rebooted: 'start',
        moved: 'confirm',
      },
      nodes: {
        app: {
          count: 2,
          provider: 'local',
          hardware: 'default',
          image: 'default',
          services: ['web'],
          fields: {},
        },
        db: {
          count: 1,
          provider: 'local',
          hardware: 'big',
          image: 'host',
          services: ['postgres'],
          fields: {},
          confirmWithin: 300,
          alternatives: [{ provider: 'other', hardware: 'big', image: 'host', fields: {} }],
        },
      },
      services: {
        web: {
          provides: [],
          conflicts: [],
          install: { requires: ['database'], uses: [] },
          runtime: { requires: ['database'], uses: [] },
          peers: 'all',
          onPeersChange: 'configure',
          actions: {
            configure: { type: 'shell', fields: { script: 'echo' } },
            start: {
              type: 'shell',
              fields: { script: 'run' },
              timeout: 5_400,
              attempts: 3,
              permanentExitCodes: [2],
            },
          },
        },
        postgres: {
          provides: ['database'],
          conflicts: [],
          install: { requires: [], uses: [] },
          runtime: { requires: [], uses: [] },
          peers: 'none',
          onPeersChange: 'nothing',
          actions: {},
        },
      },
    });
  });

  test('may be JSON, begin with a byte order mark and use CRLF', () => {
    expect(readSpecFile('{"name": "a", "nodes": {"n": {"count": 1, "provider": "p"}}}', 'a.json').ok).toBe(
      true,
    );
    expect(readSpecFile('\uFEFFname: a\r\nnodes:\r\n  n: {count: 1, provider: p}\r\n', 'a.yaml').ok).toBe(
      true,
    );
  });

  test('may merge mappings, and keep anchors under top-level keys that begin with x-', () => {
    const text = [
      'x-script: &script {type: shell, fields: {script: "true"}}',
      'x-service: &service {peers: none}',
      'name: a',
      'nodes: {n: {count: 1, provider: p, services: [s]}}',
      'services:',
      '  s:',
      '    <<: *service',
      '    actions:',
      '      start:',
      '        <<: [*script, {timeout: 1m}]',
      '        timeout: 5m',
    ].join('\n');
    const reading = readSpecFile(text, 'a.yaml');
    expect(reading.ok && reading.spec.services['s']).toMatchObject({
      peers: 'none',
      actions: { start: { type: 'shell', fields: { script: 'true' }, timeout: 300 } },
    });
    expect(reading.ok && Object.keys(reading.spec)).not.toContain('x-script');
    // The place of a problem is where the merged text is.
    expect(problemsOf(text.replace('peers: none', 'peers: some'))).toEqual([
      'cluster.yaml:2:22: services.s.peers: "some" is not allowed. Known: all, dependencies, none.',
    ]);
    expect(problemsOf(`${text}\n    x-more: 1`)).toEqual([expect.stringContaining('x-more')]);
  });

  test('gets all its problems at once, each with line, column, path, error and remedy', () => {
    const text = [
      'name: Web',
      'nodes:',
      '  app:',
      '    count: 0',
      '    provider: local',
      '    servces: [web]',
      'services:',
      '  web:',
      '    actions:',
      '      start: {fields: {}}',
      '    peers: some',
      'onFailure: 3',
    ].join('\n');
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^cluster\.yaml:1:1: name: "Web" is not valid. The cluster's name: lower-case/),
      'cluster.yaml:4:5: nodes.app.count: is 0, but must be at least 1. Number of nodes, a whole number from 1 to 10000.',
      'cluster.yaml:6:5: nodes.app.servces: is an unknown key. Did you mean "services"?',
      'cluster.yaml:10:7: services.web.actions.start.type: is missing. Name of the automator that executes the action, such as shell.',
      'cluster.yaml:11:5: services.web.peers: "some" is not allowed. Known: all, dependencies, none.',
      'cluster.yaml:12:1: onFailure: 3 is not allowed. Known: hold, continue, rollback.',
    ]);
  });

  test.each([
    ['no text', '', 'cluster.yaml:1:1: the file is empty'],
    ['only a comment', '# nothing\n', 'cluster.yaml:1:1: the file is empty'],
    ['a list', '- a\n', 'cluster.yaml:1:1: a spec must be a mapping with name, nodes and services'],
    [
      'a key twice',
      'name: a\nnodes: {}\nname: b\n',
      'cluster.yaml:3:1: duplicate key "name". Remove one of them.',
    ],
    [
      'two documents',
      'name: a\n---\nname: b\n',
      'cluster.yaml:2:1: a second document begins here. Keep one document: remove everything from the line --- on.',
    ],
    [
      'a merge of a text',
      'name: a\n<<: b\n',
      'cluster.yaml:2:1: << can merge only mappings. Merge a mapping: <<: *name.',
    ],
    [
      'a merge of a list with a text',
      'x-a: &a {}\n<<: [*a, b]\n',
      'cluster.yaml:2:1: << can merge only mappings. Merge a mapping: <<: *name.',
    ],
    [
      'a merge of a mapping into itself',
      'name: a\nnodes: &n\n  x: {<<: *n}\n',
      'cluster.yaml:3:7: << can merge only mappings. Merge a mapping: <<: *name.',
    ],
    ['a tab', 'name:\n\tx: 1\n', 'cluster.yaml:2:1: a tab is used for indentation. Indent with spaces.'],
    [
      'an unknown tag',
      'name: !!js/function x\n',
      expect.stringContaining('cluster.yaml:1:7: unknown tag "!!js/function"'),
    ],
    [
      'an alias of nothing',
      'name: *x\n',
      'cluster.yaml:1:7: alias *x has no anchor &x before it. Quote text that begins with *.',
    ],
    ['a map as key', '{a: 1}: b\n', 'cluster.yaml:1:1: a key must be plain text. Quote it.'],
    ['an unclosed quote', 'name: "a\n', expect.stringContaining('invalid YAML')],
    [
      '__proto__',
      'config:\n  __proto__: {x: 1}\n',
      'cluster.yaml:2:3: config.__proto__: is a forbidden key. Rename it.',
    ],
    [
      'constructor',
      'config: {constructor: 1}\n',
      'cluster.yaml:1:10: config.constructor: is a forbidden key. Rename it.',
    ],
    [
      'an infinite number',
      'config: {a: .inf}\n',
      'cluster.yaml:1:10: config.a: is Infinity, which is not JSON',
    ],
    [
      'half a character',
      'config: {a: "\\uD800"}\n',
      expect.stringContaining('config.a: contains an unpaired surrogate'),
    ],
    ['itself', 'config: &a [*a]\n', expect.stringContaining('contains itself')],
    [
      'a key twice in JSON',
      '{\n  "name": "a",\n  "nodes": {},\n  "name": "b"\n}\n',
      'cluster.yaml:4:3: duplicate key "name". Remove one of them.',
    ],
    [
      '__proto__ in JSON',
      '{"name": "a",\n "config": {"__proto__": {"x": 1}}}',
      'cluster.yaml:2:13: config.__proto__: is a forbidden key. Rename it.',
    ],
  ])('with %s is refused with its place', (_, text, expected) => {
    expect(problemsOf(text)).toEqual([expected]);
  });

  test('in JSON is reported with the place of each problem', () => {
    expect(
      problemsOf(
        '{\n  "name": "a",\n  "nodes": {"app": {"count": 0, "services": [], "provider": "local"}},\n  "services": {}\n}\n',
      ),
    ).toEqual([
      'cluster.yaml:3:21: nodes.app.count: is 0, but must be at least 1. Number of nodes, a whole number from 1 to 10000.',
    ]);
  });

  test('with multiplying aliases is refused before they are copied', () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) =>
        `l${level + 1}: &l${level + 1} [${Array.from({ length: 9 }, () => `*l${level}`).join(', ')}]`,
    );
    expect(problemsOf(['l0: &l0 [x]', ...levels].join('\n'))).toEqual([
      expect.stringContaining('aliases (*name) would copy more than 100 times'),
    ]);
  });

  test.each([
    ['[', '['.repeat(10_000)],
    ['[ and ]', `a: ${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['{a: ', '{a: '.repeat(10_000)],
    ['- ', '- '.repeat(10_000)],
    ['indentation', Array.from({ length: 200 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
  ])('nested thousands deep by %s is refused, and the process lives', (_, text) => {
    expect(problemsOf(text)).toEqual([expect.stringContaining('is nested deeper than 64 levels')]);
  });

  test('of more than 1 MiB is refused', () => {
    expect(problemsOf(`config: {a: "${'x'.repeat(1_100_000)}"}`)).toEqual([
      expect.stringContaining('more than 1048576 bytes'),
    ]);
  });

  test('that cannot be read is a problem, not an exception', () => {
    expect(loadSpecFile(join(folder, 'absent.yaml'))).toMatchObject({
      ok: false,
      problems: [{ wrong: 'cannot read the spec: there is no such file' }],
    });
    expect(loadSpecFile(folder)).toMatchObject({
      ok: false,
      problems: [{ wrong: 'cannot read the spec: it is a folder' }],
    });
  });
});

describe('{file: PATH} in a field', () => {
  const spec = (file: string): string =>
    `name: a\nnodes: {n: {count: 1, provider: p, services: [s], fields: {userData: {file: "${file}"}}, alternatives: [{provider: q, fields: {b: {file: "${file}"}}}]}}\nservices:\n  s:\n    actions:\n      install:\n        type: shell\n        fields: {script: {file: "${file}"}}\n`;

  test('stands for the content of the file beside the spec', () => {
    mkdirSync(join(folder, 'scripts'));
    writeFileSync(join(folder, 'scripts', 'in stall.sh'), 'echo \u00e9\n');
    writeFileSync(join(folder, 'cluster.yaml'), spec('./scripts/in stall.sh'));
    const reading = loadSpecFile(join(folder, 'cluster.yaml'));
    expect(reading.ok && reading.spec.services['s']?.actions.install?.fields).toEqual({
      script: 'echo \u00e9\n',
    });
    expect(reading.ok && reading.spec.nodes['n']?.fields).toEqual({ userData: 'echo \u00e9\n' });
    expect(reading.ok && reading.spec.nodes['n']?.alternatives).toEqual([
      { provider: 'q', hardware: 'default', image: 'default', fields: { b: 'echo \u00e9\n' } },
    ]);
  });

  test.each([
    ['is absent', 'absent.sh', 'there is no such file'],
    ['is a folder', '.', 'it is a folder'],
    ['is a device', '/dev/zero', 'it is not a regular file'],
    ['is too large', 'large.sh', 'it has 262145 bytes; the limit is 262144'],
    ['is binary', 'binary', 'it is not UTF-8 text'],
  ])('that %s is a problem with its place', (_, file, wrong) => {
    writeFileSync(join(folder, 'large.sh'), 'x'.repeat(262_145));
    writeFileSync(join(folder, 'binary'), Buffer.from([0xff, 0xfe, 0x00]));
    const reading = readSpecFile(spec(file), join(folder, 'cluster.yaml'));
    expect(reading.ok ? [] : reading.problems.map((problem) => [problem.place?.line, problem.wrong])).toEqual(
      [
        [2, `cannot use the file "${file}": ${wrong}`],
        [2, `cannot use the file "${file}": ${wrong}`],
        [8, `cannot use the file "${file}": ${wrong}`],
      ],
    );
  });
});

describe('any text', () => {
  test('is accepted or refused with places, and never throws', () => {
    const piece = fc.constantFrom(
      'name: a',
      'nodes:',
      '  n: ',
      '{count: 1, provider: p}',
      '\n',
      '  ',
      '- ',
      '*a',
      '&a ',
      '[',
      ']',
      '{',
      '}',
      ': ',
      '"',
      '|',
      '>',
      '\t',
      '#',
      '---',
      '!!str',
      '? ',
      ',',
      '\u0000',
      '\uD800',
      'é',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join('')),
        ),
        (text) => {
          const reading = readSpecFile(text, 'cluster.yaml');
          expect(
            reading.ok ||
              reading.problems.every(
                ({ place }) => place !== undefined && place.line >= 1 && place.column >= 1,
              ),
          ).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });
});
