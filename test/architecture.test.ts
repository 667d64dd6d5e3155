import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { newFolder } from './harness/folder.js';

const root = join(import.meta.dirname, '..');

interface Import {
  /** Path under src. */
  readonly from: string;
  /** A path under src, or the name of a package. */
  readonly to: string;
  /** Gone after compilation. */
  readonly typeOnly: boolean;
}

/** The table of STYLE.md, read here once more, so that it does not depend on the linter's settings. */
const rules: readonly { readonly files: RegExp; readonly may: RegExp; readonly mayTypes?: RegExp }[] = [
  {
    files: /^model\//,
    may: /^model\//,
    mayTypes: /^schema\/((cluster|pool|image)\/spec|output\/[a-z-]+)\.js$/,
  },
  {
    files: /^workflows\//,
    may: /^(model|workflows)\/|^@temporalio\/(workflow|common)$/,
    mayTypes: /^schema\//,
  },
  {
    files: /^activities\//,
    may: /^(model|schema|activities)\/|^detached\/detached-run\.js$|^plugins\/(contract|registry|errors|login-references|provider-call)\.js$|^(p-limit|@temporalio\/(activity|common))$|^node:/,
  },
  {
    files: /^plugins\/providers\/aws\//,
    may: /^model\/|^plugins\/(contract|errors|cloud-init\/[^/]+|provider-base\/[^/]+)\.js$|^node:|^zod$|^@aws-sdk\/client-ec2$|^aws4fetch$/,
  },
  {
    files: /^plugins\/providers\/libvirt\//,
    may: /^model\/|^plugins\/(contract|errors|known-hosts|bare-metal\/index|cloud-init\/[^/]+|provider-base\/[^/]+)\.js$|^node:|^(zod|fast-xml-parser)$/,
  },
  {
    files: /^plugins\/providers\/static\//,
    may: /^model\/|^plugins\/(contract|errors|fill-words|known-hosts|trusted-file|bare-metal\/index|(inventory|provider-base)\/[^/]+)\.js$|^node:|^zod$/,
  },
  {
    files: /^plugins\/(providers|automators)\//,
    may: /^model\/|^detached\/detached-run\.js$|^plugins\/(contract|errors|automator-fields|fill-words|known-hosts|node-resource|node-tool|uniform-automator|task-environment|cloud-init\/[^/]+|bare-metal\/index|provider-base\/[^/]+)\.js$|^node:|^zod$/,
    mayTypes: /^schema\/output\/[a-z-]+\.js$/,
  },
  {
    files: /^plugins\/bare-metal\//,
    may: /^model\/|^detached\/detached-run\.js$|^plugins\/(contract|errors|fill-words|known-hosts|machine-abilities|trusted-file|(bare-metal(\/imaging)?|inventory|provider-base)\/[^/]+)\.js$|^node:|^zod$/,
  },
  {
    files: /^plugins\/inventory\//,
    may: /^model\/|^plugins\/(contract|errors|field-faults|trusted-file|inventory\/[^/]+)\.js$|^node:|^(zod|yaml)$/,
  },
  {
    files: /^plugins\/provider-base\//,
    may: /^model\/|^plugins\/(contract|errors|field-faults|known-hosts|provider-base\/[^/]+)\.js$|^node:|^zod$/,
  },
  { files: /^plugins\/cloud-init\//, may: /^plugins\/(errors|cloud-init\/[^/]+)\.js$|^node:/ },
  { files: /^plugins\/index\.ts$/, may: /^plugins\/(contract|provider-base\/[^/]+)\.js$/ },
  {
    files: /^plugins\/(program\/)?[^/]+$/,
    may: /^(model|schema)\/|^plugins\/((program\/)?[^/]+|inventory\/read-inventory\.js)$|^node:|^(zod|p-limit)$/,
  },
  {
    files: /^testing\//,
    may: /^(model|schema|testing|ssh|secrets)\/|^plugins\/(contract|registry|errors|login-references|provider-call)\.js$|^node:/,
  },
  {
    files: /^schema\//,
    may: /^(model|schema)\/|^plugins\/errors\.js$|^node:|^(zod|yaml|fastest-levenshtein|re2js)$/,
  },
  { files: /^nodepool\//, may: /^(model|schema|nodepool)\/|^(zod|yaml)$/ },
  { files: /^ssh\//, may: /^(model|ssh)\/|^plugins\/(contract|errors)\.js$|^node:|^ssh2$/ },
  { files: /^store\/s3\//, may: /^(model|store)\/|^node:|^(aws4fetch|fast-xml-parser|p-limit)$/ },
  { files: /^rescue\//, may: /^rescue\/|^node:/ },
  // The errors of the operating system are tested in one place, which imports nothing.
  { files: /^detached\//, may: /^detached\/|^model\/system-error\.js$|^plugins\/errors\.js$|^node:/ },
  { files: /^store\//, may: /^(model|store|schema)\/|^node:|^(tar|write-file-atomic)$/ },
  {
    files: /^client\//,
    may: /^(model|schema|client)\/|^workflows\/([a-z-]+\/)?messages\.js$|^(p-limit|@temporalio\/(client|common))$|^node:/,
    mayTypes: /^workflows\//,
  },
  {
    files: /^local\//,
    may: /^(local|detached)\/|^config\/(end-with-parent|on-first-signal)\.js$|^node:|^(ssh2|zod|pino|p-limit|write-file-atomic)$|^@?hono(\/|$)/,
  },
];

/**
 * Every import, export-from and import() of a file. Text in strings and comments does not stand at the start
 * of a statement.
 */
function importsOf(file: string): readonly Import[] {
  const text = readFileSync(join(root, 'src', file), 'utf8');
  const statements = text.matchAll(/^(import|export)\s+(type\s)?(?:([^'";]*?)\sfrom\s+)?'([^']+)'/gm);
  const fixed = [...statements].map(([, , type, names = '', target = '']) => ({
    from: file,
    to: resolve(file, target),
    typeOnly: type !== undefined || isAllTypes(names),
  }));
  const dynamic = [...text.matchAll(/\bimport\('([^']+)'\)/g)].map(([, target = '']) => ({
    from: file,
    to: resolve(file, target),
    typeOnly: false,
  }));
  return [...fixed, ...dynamic];
}

function isAllTypes(names: string): boolean {
  const inner =
    /^\{([\s\S]*)\}$/
      .exec(names.trim())?.[1]
      ?.split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '') ?? [];
  return inner.length > 0 && inner.every((name) => name.startsWith('type '));
}

function resolve(file: string, target: string): string {
  return target.startsWith('.') ? posix.join(posix.dirname(file), target) : target;
}

function sources(): readonly string[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.replaceAll('\\', '/'))
    .toSorted();
}

/** For whoever starts a program; these files import nothing else of Heddle. */
const forPrograms = /^config\/(child-environment|process-table|run-program)\.js$/;
const mayStartPrograms = /^(activities|detached|plugins|rescue|testing|local)\//;

function violations(imports: readonly Import[]): readonly string[] {
  return imports.flatMap(({ from, to, typeOnly }) => {
    const rule = rules.find(({ files }) => files.test(from));
    if (forPrograms.test(to) && mayStartPrograms.test(from)) return [];
    if (
      rule === undefined ||
      rule.may.test(to) ||
      isSamePlugin(from, to) ||
      (typeOnly && rule.mayTypes?.test(to) === true)
    )
      return [];
    return [`${from} imports ${to}`];
  });
}

/** A plugin's folder is its own. */
function isSamePlugin(from: string, to: string): boolean {
  const folder = /^plugins\/(?:providers|automators)\/[^/]+\//.exec(from)?.[0];
  return folder !== undefined && to.startsWith(folder);
}

/** The rooms of each layer, and the other rooms of that layer that each may import. */
const rooms: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  activities: {
    automator: ['artifact', 'provider'],
    cluster: ['artifact', 'automator', 'provider'],
    image: ['machine'],
    machine: ['automator', 'provider'],
    pool: ['cluster', 'provider'],
    provider: ['sweep'],
    sweep: ['provider'],
  },
  cli: {
    cluster: ['system'],
    image: ['system'],
    machine: ['cluster', 'system'],
    pool: ['system'],
    completion: ['explain'],
    reference: ['explain'],
    system: ['account', 'cluster', 'explain', 'plugin'],
  },
  client: {},
  model: {
    artifact: ['cluster'],
    cluster: ['expression', 'node', 'plan'],
    image: ['cluster', 'machine', 'node'],
    machine: ['cluster', 'image', 'node'],
    messages: ['account', 'artifact', 'cluster', 'image', 'machine', 'pool', 'reservation'],
    node: ['cluster', 'machine', 'plan'],
    plan: ['cluster', 'node'],
    pool: ['image', 'machine', 'node'],
    reservation: ['machine'],
    sweep: ['node'],
  },
  schema: { image: ['cluster'] },
  workflows: { image: ['machine'] },
};

/** Imports of a room by another one of the same layer that the table does not list. */
function roomViolations(imports: readonly Import[]): readonly string[] {
  return imports.flatMap(({ from, to }) => {
    const [layer = '', room = '', ...rest] = from.split('/');
    const [targetLayer, target = '', ...targetRest] = to.split('/');
    const table = rooms[layer];
    const isBetweenRooms =
      table !== undefined &&
      layer === targetLayer &&
      rest.length > 0 &&
      targetRest.length > 0 &&
      room !== target;
    return isBetweenRooms && table[room]?.includes(target) !== true ? [`${from} imports ${to}`] : [];
  });
}

describe('the import table', () => {
  const all = sources().flatMap(importsOf);

  it('finds the imports of the sources', () => {
    expect(all.length).toBeGreaterThan(500);
    expect(all).toContainEqual({
      from: 'workflows/cluster/workflow.ts',
      to: 'model/node/peers.js',
      typeOnly: false,
    });
    expect(all.filter(({ to }) => to.startsWith('..'))).toEqual([]);
  });

  it('is respected', () => {
    expect(violations(all)).toEqual([]);
  });

  it('is respected between the rooms of a layer', () => {
    expect(roomViolations(all)).toEqual([]);
    const planted = { from: 'model/pool/a.ts', to: 'model/reservation/b.js', typeOnly: true };
    expect(roomViolations([planted])).toEqual(['model/pool/a.ts imports model/reservation/b.js']);
  });

  it('reports violations', () => {
    const planted: readonly (readonly [string, string])[] = [
      ['model/plan/plan.ts', 'zod'],
      ['model/plan/plan.ts', 'schema/cluster/spec.js'],
      ['workflows/cluster/workflow.ts', 'node:fs'],
      ['workflows/cluster/workflow.ts', 'activities/cluster/plan.js'],
      ['activities/cluster/plan.ts', 'plugins/providers/local/local.js'],
      ['plugins/providers/local/local.ts', 'ssh2'],
      ['plugins/automators/shell/shell.ts', 'ssh/run.js'],
      ['plugins/automators/shell/shell.ts', 'plugins/providers/local/api.js'],
      ['ssh/run.ts', 'activities/parts.js'],
      ['local/main.ts', 'model/names.js'],
    ];
    expect(violations(planted.map(([from, to]) => ({ from, to, typeOnly: false })))).toHaveLength(
      planted.length,
    );
  });

  it('only the worker imports both activities and ssh', () => {
    const knows = (part: RegExp): ReadonlySet<string> =>
      new Set(all.filter(({ to, from }) => part.test(to) && !part.test(from)).map(({ from }) => from));
    const ssh = knows(/^ssh\//);
    expect([...knows(/^activities\//)].filter((file) => ssh.has(file))).toEqual(['worker/worker.ts']);
  });

  it('activities are scheduled in one place, and only the configuration reads the environment', () => {
    const holds = (word: RegExp): readonly string[] =>
      sources().filter((file) => word.test(readFileSync(join(root, 'src', file), 'utf8')));
    // Interceptors define methods of these names without importing them.
    const scheduling =
      /import \{[^}]*\b(scheduleActivity|scheduleLocalActivity|proxyActivities|proxyLocalActivities)\b/;
    expect(holds(scheduling)).toEqual(['workflows/schedule.ts']);
    expect(holds(/\bprocess\.env\b/)).toEqual([
      'config/child-environment.ts',
      'config/hide-environment.ts',
      'config/index.ts',
    ]);
    // Node's own forgets time limits.
    expect(holds(/\bAbortSignal\.any\(/)).toEqual(['model/signals.ts']);
  });
});

describe('the environment of child processes', () => {
  const starters = sources().filter((file) =>
    /^(?!import type ).*['"](?:node:)?child_process['"]/m.test(readFileSync(join(root, 'src', file), 'utf8')),
  );

  it('comes from config/child-environment.ts wherever a program is started', () => {
    expect(starters.length).toBeGreaterThan(20);
    expect(
      starters.flatMap((file) =>
        inheritingCalls(readFileSync(join(root, 'src', file), 'utf8')).map((call) => `${file}: ${call}`),
      ),
    ).toEqual([]);
  });

  it.each([
    ['no options at all', "spawn('ls', [])"],
    ['options without an environment', "spawn('ls', [], { stdio: 'ignore' })"],
    ['an environment of its own', "spawnSync('ls', [], { env: { ...all } })"],
    ['a function that is passed on by name', 'const run = promisify(execFile)'],
    ['a second call', "spawn('ls', [], { env: childEnvironment() }); spawn('ls')"],
  ])('is demanded of a call with %s', (_, code) => {
    expect(
      inheritingCalls(
        `import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';\n${code};\n`,
      ),
    ).toHaveLength(1);
  });
});

/**
 * Uses of node:child_process in a source whose program would inherit the whole environment, or that cannot be
 * judged.
 */
function inheritingCalls(text: string): readonly string[] {
  const imports = /^import \{([^}]*)\} from 'node:child_process';$/gm;
  const functions = [...text.matchAll(imports)]
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '));
  if (text.search(imports) < 0) return ['an import that is not by name'];
  const code = text.replaceAll(imports, '');
  return functions.flatMap((name) =>
    [...code.matchAll(new RegExp(`(?<![\\w.'#-])${name}\\b(?!')`, 'g'))].flatMap(({ index }) => {
      const after = code.slice(index + name.length).replace(/^\)(?=\()/, '');
      const given = after.startsWith('(') ? argumentsAt(after) : '';
      return /\benv: (child|worker|secretCommand)Environment\(/.test(given)
        ? []
        : [code.slice(index, index + 60)];
    }),
  );
}

/** The text between the first parenthesis and the one that closes it. */
function argumentsAt(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return text.slice(0, at + 1);
  }
  return text;
}

describe('the linter', () => {
  const planted = [
    [
      'zod in the model',
      'model/json.ts',
      "import { z } from 'zod'; export const planted = z;",
      'no-restricted-imports',
    ],
    [
      'zod in a folder within a room of the model',
      'model/plan/order/order.ts',
      "import { z } from 'zod'; export const planted = z;",
      'no-restricted-imports',
    ],
    [
      'another layer in a folder within a room of the model',
      'model/plan/order/order.ts',
      "import { runOnce } from '../../../ssh/run.js'; export const planted = runOnce;",
      'no-restricted-imports',
    ],
    [
      'a Node module in the model',
      'model/json.ts',
      "import { readFileSync } from 'node:fs'; export const planted = readFileSync;",
      'no-restricted-imports',
    ],
    [
      'the transport in workflows',
      'workflows/permits.ts',
      "import { runOnce } from '../../ssh/run.js'; export const planted = runOnce;",
      'no-restricted-imports',
    ],
    [
      'more than types of the schema in workflows',
      'workflows/permits.ts',
      "import { parseSpec } from '../../schema/cluster/read.js'; export const planted = parseSpec;",
      'no-restricted-imports',
    ],
    [
      'a plugin in activities',
      'activities/in-flight.ts',
      "import { LocalProvider } from '../plugins/providers/local/local.js'; export const planted = LocalProvider;",
      'no-restricted-imports',
    ],
    [
      'ssh2 in a plugin',
      'plugins/automators/shell/script.ts',
      "import { Client } from 'ssh2'; export const planted = Client;",
      'no-restricted-imports',
    ],
    [
      'Temporal in the transport',
      'ssh/quote.ts',
      "import { Context } from '@temporalio/activity'; export const planted = Context;",
      'no-restricted-imports',
    ],
    [
      'the environment outside of the configuration',
      'ssh/quote.ts',
      "export const planted = process.env['HOME'];",
      'no-process-env',
    ],
    ['a default export', 'ssh/quote.ts', 'export default 1;', 'no-default-export'],
    [
      'more than 400 lines',
      'ssh/quote.ts',
      Array.from({ length: 401 }, (_, index) => `export const planted${index} = 1;`).join('\n'),
      'max-lines',
    ],
    [undefined, 'workflows/permits.ts', '', undefined],
  ] as const;
  let copy: string;
  /** Complaints by file. */
  let complaints: Readonly<Record<string, string>>;

  // Each beside the file it is planted in, under the same settings; one run of the linter for all.
  beforeAll(() => {
    copy = newFolder();
    cpSync(join(root, '.oxlintrc.json'), join(copy, '.oxlintrc.json'));
    for (const [index, [, file, line]] of planted.entries()) {
      const target = join(copy, 'src', placeOf(file, index));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, `${line}\n${readFileSync(join(root, 'src', file), 'utf8')}`);
    }
    const oxlint = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');
    const { stdout } = spawnSync(process.execPath, [oxlint, '--deny-warnings', '--format=unix'], {
      cwd: copy,
      encoding: 'utf8',
    });
    complaints = Object.fromEntries(
      planted.map(([, file], index) => {
        const place = placeOf(file, index);
        return [
          place,
          stdout
            .split('\n')
            .filter((text) => text.includes(`${place}:`))
            .join('\n'),
        ];
      }),
    );
  });

  function placeOf(file: string, index: number): string {
    return join(dirname(file), `planted-${index}.ts`);
  }

  it.each(
    planted.flatMap(([what, file, , rule], index) =>
      what === undefined ? [] : [{ what, rule, place: placeOf(file, index) }],
    ),
  )('refuses $what', ({ place, rule }) => {
    expect(complaints[place]).toContain(rule);
  });

  it('finds no planted error in a correct file', () => {
    const [, file] = planted[planted.length - 1] ?? planted[0];
    expect(complaints[placeOf(file, planted.length - 1)]).toBe('');
  });
});
