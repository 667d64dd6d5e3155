import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../../src/model/json.js';
import type { ClusterSpec } from '../../../src/model/cluster/spec.js';
import { formatProblem } from '../../../src/schema/problem.js';
import { loadSpecFile, parseSpec } from '../../../src/schema/cluster/read.js';
import { newFolder } from '../../harness/folder.js';

let folder: string;
beforeAll(() => {
  folder = join(newFolder(), 'heddle variables');
  mkdirSync(folder);
});

function write(files: Readonly<Record<string, string>>): string {
  const place = mkdtempSync(join(folder, 'case-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(place, name)), { recursive: true });
    writeFileSync(join(place, name), text);
  }
  return place;
}

type Given = Readonly<Record<string, Json>>;

function load(files: Readonly<Record<string, string>>, given: Given = {}): ReturnType<typeof loadSpecFile> {
  const values = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, { value, by: `--var ${name}` }]),
  );
  return loadSpecFile(join(write(files), 'cluster.yaml'), values);
}

function good(files: Readonly<Record<string, string>>, given: Given = {}): ClusterSpec {
  const reading = load(files, given);
  if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
  return reading.spec;
}

/** What a person is told, without the folder. */
function told(files: Readonly<Record<string, string>>, given: Given = {}): readonly string[] {
  const reading = load(files, given);
  return (reading.ok ? reading.warnings : reading.problems).map((problem) =>
    formatProblem(problem).replaceAll(/\/\S*\/heddle variables\/case-\w+\//g, ''),
  );
}

const base = `name: web
nodes:
  app: {count: 2, provider: local, services: [app]}
  db: {count: 1, provider: local, services: [db]}
`;
const service = (script: string, action = 'configure'): string =>
  `services:\n  db: {}\n  app:\n    actions:\n      ${action}:\n        type: shell\n        fields:\n          script: ${script}\n`;
const script = (spec: ClusterSpec): Json | undefined =>
  spec.services['app']?.actions.configure?.fields['script'];

describe('variables of a cluster file', () => {
  test('are put in with their types, from what is given or from their defaults', () => {
    const spec = good(
      {
        'cluster.yaml': `name: web
variables:
  size: {type: number, default: 1, description: How many.}
  image: {allowed: [host, debian]}
  tags: {type: list, default: [a]}
nodes:
  app: {count: "\${{ var.size }}", provider: local, image: "\${{ var.image }}"}
config:
  tags: \${{ var.tags }}
  text: size \${{ var.size }}, shell \${size}, literal $\${{ x }}
`,
      },
      { size: 3, image: 'host' },
    );
    expect(spec).toMatchObject({
      nodes: { app: { count: 3, image: 'host' } },
      config: { tags: ['a'], text: 'size 3, shell ${size}, literal ${{ x }}' },
    });
    expect(spec).not.toHaveProperty('variables');
    expect(parseSpec(spec)).toMatchObject({ ok: true, spec });
  });

  test('that are wrong are reported with their places', () => {
    const files = {
      'cluster.yaml': `${base}variables:
  a: {description: The first.}
  b: {type: number}
  c: {allowed: [x, y]}
  d: {type: number, default: many}
  e: {secret: true, default: plain}
  f: {from: db}
config: {text: "\${{ var.none }} \${{ vra.a }} \${{ var.a"}
${service('"${{ var.a }}"')}`,
    };
    expect(told(files, { b: 'three', c: 'z', other: 1 })).toEqual([
      'cluster.yaml:5:1: variables: --var other sets other, but the file declares no such variable. Known: a, b, c, d, e.',
      'cluster.yaml:6:3: variables.a: has no value. Set it with --var a=VALUE, --var-file FILE or HEDDLE_VAR_a (The first).',
      'cluster.yaml:7:3: variables.b: "three" (by --var b) is not a number',
      'cluster.yaml:8:3: variables.c: "z" (by --var c) is not allowed. Allowed values: "x", "y".',
      'cluster.yaml:9:3: variables.d: "many" is not a number',
      expect.stringMatching(/^cluster.yaml:10:21: variables.e.default: would store the secret in the file/),
      expect.stringMatching(/^cluster.yaml:11:7: variables.f.from/),
      'cluster.yaml:12:17: config.text: ${{ var.none }} refers to a variable that is not declared. Known: a, b, c, d, e, f.',
      'cluster.yaml:12:33: config.text: ${{ vra.a }} begins with the unknown word vra. Did you mean "var"?',
      'cluster.yaml:12:46: config.text: ${{ var.a is not closed on its line by }}. To write a literal ${{, use $${{.',
    ]);
  });

  test('that no expression, environment or value can name or have are refused', () => {
    const files = {
      'cluster.yaml': `${base}variables:
  1a: {default: x}
  a-b: {default: x}
  n: {type: number, allowed: [1, two], default: 1}
  own: {from: cluster/web}
  v: {default: x}
outputs: {o: 5}
${service('"${{ var.constructor }} ${{ var.toString }}"')}`,
    };
    expect(told(files)).toEqual([
      expect.stringMatching(/^cluster.yaml:6:3: variables.1a: "1a" is not a valid name/),
      expect.stringMatching(/^cluster.yaml:7:3: variables.a-b: "a-b" is not a valid name/),
      expect.stringMatching(
        /^cluster.yaml:8:21: variables.n.allowed: a list contains a value that is not a number/,
      ),
      expect.stringMatching(/^cluster.yaml:11:11: outputs.o: 5 must be text or a mapping with value/),
      expect.stringMatching(
        /^cluster.yaml:19:20: .*var.constructor }} refers to a variable that is not declared/,
      ),
      expect.stringMatching(
        /^cluster.yaml:19:43: .*var.toString }} refers to a variable that is not declared/,
      ),
    ]);
    const given = { 'cluster.yaml': `${base}variables: {v: {default: x}}\n${service('x')}` };
    expect(told(given, { v: null })).toEqual([
      'cluster.yaml:5:13: variables.v: null (by --var v) is not text',
    ]);
    const own = { 'cluster.yaml': `${base}variables: {v: {from: cluster/web}}\n${service('x')}` };
    expect(told(own)).toEqual([
      'cluster.yaml:5:17: variables.v.from: names this cluster itself. Refer to its nodes: ${{ nodes.ID.KEY }}.',
    ]);
  });

  test('never show the values of secrets in messages', () => {
    const files = {
      'cluster.yaml': `${base}variables:\n  t: {secret: true, allowed: [good]}\n${service('x')}`,
    };
    expect(told(files, { t: 'hunter2' }).join()).toContain(
      'variables.t: its value (by --var t) is not allowed',
    );
    expect(told(files, { t: 'hunter2' }).join()).not.toContain('hunter2');
  });

  test('that are secret stay apart from the fields that use them', () => {
    const files = {
      'cluster.yaml': `${base}variables: {t: {secret: true}, u: {secret: true, default: {secret: "env:U"}}}\n${service('"t=${{ var.t }} u=${{ var.u }}"')}`,
    };
    const spec = good(files, { t: 'hunter2' });
    expect(script(spec)).toBe('t=${{ var.t }} u=${{ var.u }}');
    expect(spec.variables).toEqual({
      t: { secret: true, value: 'hunter2' },
      u: { secret: true, value: { secret: 'env:U' } },
    });
    expect(parseSpec(spec)).toMatchObject({ ok: true, spec });
  });

  test('that are secret or of another cluster cannot be used where nothing hides or updates them', () => {
    const files = {
      'cluster.yaml': `${base}variables: {t: {secret: true}, url: {from: cluster/db}}
config: {a: "\${{ var.t }}", b: "\${{ var.url }}", c: "\${{ nodes.db-1.ipaddress }}"}
outputs: {t: "\${{ var.t }}"}
${service('x')}`,
    };
    expect(told(files, { t: 'hunter2' })).toEqual([
      'cluster.yaml:6:14: config.a: ${{ var.t }} is a secret variable, which is allowed only in fields of actions and in outputs',
      'cluster.yaml:6:33: config.b: ${{ var.url }} is a value of another cluster, which is allowed only in fields of actions and in outputs',
      'cluster.yaml:6:54: config.c: ${{ nodes.db-1.ipaddress }} refers to nodes, which is allowed only in fields of actions and in outputs',
      'cluster.yaml:7:15: outputs.t: ${{ var.t }} is a secret variable. Mark the output `secret: true`.',
    ]);
  });

  test('of another cluster state what they accept', () => {
    const spec = good({
      'cluster.yaml': `${base}variables:
  url: {from: cluster/db}
  port: {from: cluster/db, type: number, output: p}
  hosts: {from: cluster/db, type: list, format: hostname}
  release: {from: cluster/db, pattern: 'v\\d+'}
${service('x')}`,
    });
    expect(spec.variables).toEqual({
      url: { from: 'cluster/db', output: 'url' },
      port: { from: 'cluster/db', output: 'p', type: 'number' },
      hosts: { from: 'cluster/db', output: 'hosts', type: 'list', format: 'hostname' },
      release: { from: 'cluster/db', output: 'release', pattern: 'v\\d+' },
    });
    expect(parseSpec(spec)).toMatchObject({ ok: true, spec });
  });

  test.each([
    ['{from: cluster/db, default: x}', 'default: cannot be combined with from'],
    ['{from: cluster/db, secret: true}', 'secret: cannot be combined with from'],
    ['{from: cluster/db, type: number, format: ip}', 'format: applies only to texts, but the type is number'],
    ['{from: cluster/db, format: ip, pattern: x}', 'pattern: cannot be combined with format'],
    ['{from: cluster/db, pattern: "("}', 'pattern: is not a valid regular expression'],
    ['{from: cluster/db, pattern: "(?=x)"}', 'pattern: uses syntax that RE2 does not support'],
    ['{default: x, format: ip}', 'format: requires from: it applies only to values of other clusters'],
    ['{default: x, output: y}', 'output: requires from: it applies only to values of other clusters'],
  ])('declared as %s are refused', (declared, why) => {
    const files = { 'cluster.yaml': `${base}variables: {v: ${declared}}\n${service('x')}` };
    const [key = '', what = ''] = why.split(': ');
    expect(told(files)).toEqual([expect.stringMatching(new RegExp(`variables\\.v\\.${key}: .*`))]);
    expect(told(files).join()).toContain(what);
  });

  test('without a value are refused where no client gives them one', () => {
    const reading = parseSpec({
      name: 'web',
      variables: { a: {} },
      nodes: { app: { count: 1, provider: 'local' } },
    });
    expect(reading).toMatchObject({
      ok: false,
      problems: [{ path: ['variables', 'a', 'value'], wrong: 'is missing' }],
    });
  });
});

describe('expressions about nodes', () => {
  test('are kept for the task, and need what the spec has', () => {
    const spec = good({
      'cluster.yaml': `${base}outputs: {url: "redis://\${{ nodes.db-1.ipaddress }}"}\n${service('"${{ nodes.db-1.ipaddress }} ${{ services.app.hostname }} ${{ node.anything }}"')}`,
    });
    expect(script(spec)).toBe(
      '${{ nodes.db-1.ipaddress }} ${{ services.app.hostname }} ${{ node.anything }}',
    );
    expect(spec.outputs).toEqual({ url: { value: 'redis://${{ nodes.db-1.ipaddress }}' } });
    expect(parseSpec(spec)).toMatchObject({ ok: true, spec });
  });

  test.each([
    [
      '${{ nodes.db-2.ipaddress }}',
      'refers to a node that does not exist. Existing nodes: app-1 to app-2, db-1.',
    ],
    ['${{ services.apq.ipaddress }}', 'refers to a service that is not defined. Did you mean "app"?'],
    ['${{ nodes.db-1 }}', 'has no key. Add one, such as hostname, ipaddress, nodenum, group.'],
    [
      '${{ nodes.db-1.password }}',
      'refers to the key password, which is not available for other nodes. Available keys: hostname, ipaddress, nodenum, group.',
    ],
    ['${{ node }}', 'is incomplete. Write node.KEY.'],
  ])('%s is refused with its line and column', (expression, wrong) => {
    expect(
      told({ 'cluster.yaml': `${base}${service(`|\n            line\n            echo ${expression}`)}` }),
    ).toEqual([`cluster.yaml:14:18: services.app.actions.configure.fields.script: ${expression} ${wrong}`]);
  });

  test('in an included script are found there', () => {
    const files = {
      'cluster.yaml': `${base}${service('{file: ./run.sh}')}`,
      'run.sh': '#!/bin/sh\necho ${x}\n  echo ${{ nodes.db-7.ipaddress }}\n',
    };
    expect(told(files)).toEqual([
      expect.stringMatching(
        /^run.sh:3:8: services.app.actions.configure.fields.script: \$\{\{ nodes.db-7.ipaddress }} refers to a node that does not exist/,
      ),
    ]);
  });

  test('are refused where the nodes are not known', () => {
    const install = { 'cluster.yaml': `${base}${service('${{ nodes.db-1.ipaddress }}', 'install')}` };
    expect(told(install)[0]).toContain(
      'refers to other nodes, which install cannot read. Other nodes are available from configure on.',
    );
    const stop = { 'cluster.yaml': `${base}${service('${{ services.db.ipaddress }}', 'stop')}` };
    expect(told(stop)[0]).toContain(
      'refers to other nodes, which stop cannot read. Other nodes may be deleted by then.',
    );
    const unread = {
      'cluster.yaml': `${base}${service('${{ nodes.db-1.ipaddress }}').replace('  app:\n', '  app:\n    peers: dependencies\n')}`,
    };
    expect(told(unread)[0]).toContain('refers to a node that service app does not read');
  });
});

describe('includes of a cluster file', () => {
  test('are refused where the files cannot be read', () => {
    const spec = { name: 'web', include: ['db.yaml'], nodes: { app: { count: 1, provider: 'local' } } };
    expect(parseSpec(spec)).toMatchObject({ ok: false, problems: [{ path: ['include'] }] });
  });

  const included = {
    'cluster.yaml': `name: web
include: [shared/db.yaml, services/app]
nodes: {app: {count: 1, provider: local, services: [app, db]}}
`,
    'shared/db.yaml': 'include: [more.yaml]\nvariables: {v: {default: x}}\nservices: {db: {}}\n',
    'shared/more.yaml': 'config: {v: "${{ var.v }}"}\n',
    'services/app/service.yaml':
      'requires: [db]\nactions:\n  start: {type: shell, fields: {script: {file: start.sh}}}\n',
    'services/app/start.sh': 'exec app\n',
  };

  test('add files, and folders of services with their scripts', () => {
    const spec = good(included);
    expect(spec.services['app']).toMatchObject({
      actions: { start: { fields: { script: 'exec app\n' } } },
      install: { requires: ['db'] },
    });
    expect(spec.config).toEqual({ v: 'x' });
    expect(spec).not.toHaveProperty('include');
  });

  test('show nothing of a file that is something else, and hold no expressions', () => {
    const files = {
      'cluster.yaml': `${included['cluster.yaml']}services: {db: {}}\n`.replace(
        '[shared/db.yaml, services/app]',
        '[passwords, "${{ var.file }}"]',
      ),
      passwords: 'root:*:20228:0:99999:7::\nme:hunter2:20228:0:99999:7::\n',
    };
    const shown = told(files);
    expect(shown.join()).not.toContain('hunter2');
    expect(shown).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^cluster.yaml:2:22: include\[1\]: "\$\{\{ var.file \}\}" contains an expression, but files are included before/,
        ),
        'passwords:1:1: the file is not part of a cluster spec. Included files may contain nodes, services, variables, outputs, config.',
      ]),
    );
  });

  test('that are wrong are reported in the file that is at fault', () => {
    expect(
      told({
        ...included,
        'cluster.yaml': `${included['cluster.yaml']}services: {db: {}}\n`.replace(
          'services/app]',
          'services/app, none.yaml, shared, shared/db.yaml]',
        ),
        'shared/more.yaml': 'name: x\nconfig: {v: "${{ var.w }}"}\n',
        'services/app/service.yaml': 'requires: [dbx]\n',
      }),
    ).toEqual([
      expect.stringMatching(
        /^cluster.yaml:2:41: include\[2\]: cannot include "none.yaml": there is no such file/,
      ),
      expect.stringMatching(/^cluster.yaml:2:52: include\[3\]: cannot include "shared\/service.yaml"/),
      expect.stringMatching(/^cluster.yaml:2:60: include\[4\]: shared\/db.yaml is already included/),
      expect.stringMatching(
        /^services\/app\/service.yaml:1:1: services.app.requires: no service is named dbx/,
      ),
      expect.stringMatching(/^shared\/db.yaml:3:12: services.db: is already defined in cluster.yaml:4/),
      'shared/more.yaml:1:1: name: is not allowed in an included file. Move it to the cluster file. Included files may contain nodes, services, variables, outputs, config.',
      'shared/more.yaml:2:14: config.v: ${{ var.w }} refers to a variable that is not declared. Did you mean "v"?',
    ]);
  });
});
