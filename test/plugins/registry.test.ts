import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pretendForeign } from '../harness/foreign.js';
import { findPlugins } from '../../src/plugins/find-plugins.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import { newFolder } from '../harness/folder.js';

let root: string;
beforeEach(() => {
  root = newFolder();
});
const opened: Registry[] = [];
afterEach(() => Promise.all(opened.splice(0).map((registry) => registry.close())));

function write(path: string, content: string | object): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
}

const provider = {
  name: 'cloud',
  type: 'provider',
  entry: './cloud.js',
  class: 'Cloud',
  version: '1.2.3',
  description: 'A cloud.',
};
const providerCode =
  'export class Cloud { constructor(context) { this.context = context; } create() {} confirm() {} delete() {} list() {} }';
const automatorMethods =
  'bootstrap() {} install() {} configure() {} init() {} start() {} stop() {} remove() {}';

function writeProvider(changes: object = {}, code = providerCode, folder = 'providers/cloud'): void {
  write(`${folder}/cloud.json`, { ...provider, ...changes });
  write(`${folder}/cloud.js`, code);
  write(`${folder}/package.json`, { type: 'module' });
}

async function load(
  folders = [root],
): Promise<{ readonly registry: Registry; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const registry = await loadRegistry({
    folders,
    builtIn: false,
    log: { info: (message) => lines.push(message) },
  });
  opened.push(registry);
  return { registry, lines };
}

const failure = async (): Promise<string> =>
  load().then(
    () => 'nothing',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

describe('the registry', () => {
  test('logs one line for each plugin', async () => {
    writeProvider();
    write('automators/script/script.json', {
      name: 'script',
      type: 'automator',
      entry: './script.mjs',
      class: 'Script',
      version: '0.1.0',
      description: 'Runs.',
      prepares: 'users',
    });
    write('automators/script/script.mjs', `export class Script { ${automatorMethods} }`);
    const { registry, lines } = await load();
    expect(lines).toEqual([
      'plugin provider cloud 1.2.3 registered',
      'plugin automator script 0.1.0 registered',
    ]);
    const cloud = registry.provider('cloud');
    expect(cloud).toMatchObject({
      abilities: ['list'],
      folder: join(root, 'providers/cloud'),
      descriptor: { idempotency: 'none', callDeadlineMs: 30_000 },
    });
    expect(cloud.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(registry.automators().map(({ descriptor }) => [descriptor.name, descriptor.prepares])).toEqual([
      ['script', 'users'],
    ]);
  });

  test('creates an object for each attempt, with the abilities of its class', async () => {
    writeProvider();
    const { registry } = await load();
    const context = { task: { taskId: 't' }, fields: { size: 1 } };
    const created: object = Reflect.apply(registry.provider('cloud').create, undefined, [context]) as object;
    expect(created).toMatchObject({ ...context, list: expect.any(Function) });
    expect(created).not.toHaveProperty('find');
  });

  test("accepts the older systems' form; the folder determines the type", async () => {
    write('providers/my_provider/my_provider.json', { my_provider: { classname: 'MyProvider' } });
    write('providers/my_provider/my_provider.mjs', providerCode.replace('Cloud', 'MyProvider'));
    write('automators/my-automator/my_automator.json', { my_automator: { classname: 'MyAutomator' } });
    write('automators/my-automator/my_automator.cjs', `exports.MyAutomator = class { ${automatorMethods} };`);
    const { registry } = await load();
    expect(registry.provider('my_provider').descriptor).toMatchObject({
      type: 'provider',
      class: 'MyProvider',
      version: '0.0.0',
    });
    expect(registry.automator('my_automator').descriptor.type).toBe('automator');
  });

  test.each<readonly [string, Readonly<Record<string, string>>, string]>([
    [
      'a file of another name',
      {
        'app.mjs': 'export const sizes = 1;',
        'my_provider.mjs': providerCode.replace('Cloud', 'MyAutomator2') + providerCode,
      },
      'my_provider.mjs',
    ],
    [
      'the file of its name, though another has it too',
      { 'cloud.mjs': providerCode, 'a.mjs': providerCode },
      'cloud.mjs',
    ],
    [
      'the file of its name, which has it from elsewhere',
      { 'cloud.mjs': 'export * from "./lib/all.mjs";', 'lib/all.mjs': providerCode },
      'cloud.mjs',
    ],
    [
      'what is compiled, beside its source',
      { 'main.mjs': providerCode, 'main.ts': providerCode, 'main.d.ts': 'export declare class Cloud {}' },
      'main.mjs',
    ],
    [
      'an expression',
      { 'main.cjs': providerCode.replace('export class Cloud', 'exports.Cloud = class') },
      'main.cjs',
    ],
  ])("finds the class of the seed's form in any file of the folder: %s", async (_, files, entry) => {
    write('providers/my-cloud/cloud.json', { cloud: { classname: 'Cloud' } });
    for (const [file, text] of Object.entries(files)) write(`providers/my-cloud/${file}`, text);
    const [found] = findPlugins([root]).found;
    expect(found?.entry).toBe(join(root, 'providers/my-cloud', entry));
    expect((await load()).registry.provider('cloud').descriptor.class).toBe('Cloud');
  });

  test('lists the known names if a name is unknown', async () => {
    writeProvider();
    const { registry } = await load();
    expect(() => registry.provider('clowd')).toThrow(
      'provider plugin "clowd" is not installed on this worker. Did you mean "cloud"?',
    );
    expect(() => registry.automator('shell')).toThrow(
      'automator plugin "shell" is not installed on this worker. None is registered.',
    );
  });

  test('has another digest after a change of a data file of the plugin', async () => {
    writeProvider();
    write('providers/cloud/data/sizes.json', '{}');
    const before = (await load()).registry.provider('cloud').digest;
    expect((await load()).registry.provider('cloud').digest).toBe(before);
    // What Python leaves there when a module is used first.
    write('providers/cloud/lib/__pycache__/sizes.cpython-311.pyc', 'compiled');
    expect((await load()).registry.provider('cloud').digest).toBe(before);
    write('providers/cloud/data/sizes.json', '{"a": 1}');
    const { registry } = await load();
    expect(registry.provider('cloud').digest).not.toBe(before);
    expect(registry.versions()).toEqual([
      {
        type: 'provider',
        name: 'cloud',
        version: '1.2.3',
        digest: registry.provider('cloud').digest,
        builtIn: false,
      },
    ]);
  });
});

describe('an invalid plugin stops the worker, with file and error:', () => {
  test.each<readonly [string, () => void, string]>([
    [
      'JSON that ends early',
      () => write('providers/cloud/cloud.json', '{"name": '),
      'cloud.json:1:10: is not valid JSON: Unexpected end of JSON input',
    ],
    [
      'JSON without a comma',
      () => write('providers/cloud/cloud.json', '{\n  "name": "cloud"\n  "type": "provider"\n}'),
      `cloud.json:3:3: is not valid JSON: Expected ',' or '}' after property value`,
    ],
    [
      "name that is not the file's",
      () => {
        writeProvider();
        write('providers/cloud/cloud.json', { ...provider, name: 'clouds' });
      },
      'cloud.json:2:3: name: is clouds, but the file is cloud.json. Name the file clouds.json, or the plugin cloud.',
    ],
    [
      'key of automators',
      () => writeProvider({ prepares: 'users' }),
      'prepares: applies only to automators, but the plugin is of type provider. Remove it.',
    ],
    [
      'key of providers',
      () => {
        write('automators/script/script.json', {
          ...provider,
          name: 'script',
          type: 'automator',
          countsCalls: true,
        });
      },
      'countsCalls: applies only to providers, but the plugin is of type automator. Remove it.',
    ],
    [
      'unknown key',
      () => writeProvider({ classs: 'x' }),
      'cloud.json:8:3: classs: is an unknown key. Did you mean "class"?',
    ],
    ['missing version', () => writeProvider({ version: undefined }), 'version: is missing'],
    [
      "type that is not the folder's",
      () => writeProvider({ type: 'automator' }),
      'cloud.json:3:3: type: is automator, but the plugin is under providers',
    ],
    [
      'no descriptor',
      () => write('providers/cloud/cloud.js', providerCode),
      'cloud contains no descriptor. Add cloud.json',
    ],
    [
      'missing entry',
      () => writeProvider({ entry: './other.js' }),
      'entry: file ./other.js or ./other.ts does not exist',
    ],
    [
      "class of the seed's form that is nowhere",
      () => {
        write('providers/cloud/cloud.json', { cloud: { classname: 'Cloud' } });
        write('providers/cloud/other.mjs', 'export class Clouds {}');
      },
      'has a class Cloud; searched other.mjs',
    ],
    [
      "class of the seed's form that is there twice",
      () => {
        write('providers/cloud/cloud.json', { cloud: { classname: 'Cloud' } });
        write('providers/cloud/a.mjs', providerCode);
        write('providers/cloud/b.mjs', providerCode);
      },
      'class Cloud is in a.mjs and b.mjs; keep one of them, or rename it to cloud.mjs',
    ],
    [
      'neither class nor command',
      () => writeProvider({ entry: undefined, class: undefined }),
      'entry: is missing. Set entry and class, or command.',
    ],
    [
      'class and command',
      () => writeProvider({ command: ['sh'] }),
      'entry: cannot be combined with command. Remove one of them.',
    ],
    ['requests of a class', () => writeProvider({ requests: ['run'] }), 'requests: requires command.'],
    [
      'program that is not on PATH',
      () => writeProvider({ command: ['no-such-program'], entry: undefined, class: undefined }),
      'program no-such-program is not on PATH',
    ],
    [
      'program that is not there',
      () => writeProvider({ command: ['sh', './x.sh'], entry: undefined, class: undefined }),
      'command: file ./x.sh does not exist in',
    ],
    [
      'program that may not be executed',
      () => writeProvider({ command: ['./cloud.js'], entry: undefined, class: undefined }),
      './cloud.js is not executable; run: chmod +x',
    ],
    [
      'program outside its folder',
      () => {
        writeProvider({ command: ['./../../outside.sh'], entry: undefined, class: undefined });
        write('outside.sh', '');
      },
      "is outside the plugin's folder",
    ],
    [
      'variable of the worker that the descriptor grants itself',
      () => writeProvider({ passEnvironment: ['AWS_SECRET_ACCESS_KEY'] }),
      'passEnvironment: is an unknown key',
    ],
    [
      'class that ends its process while it loads',
      () => writeProvider({}, 'process.exit(3)'),
      'its process ended with exit code 3 before it answered',
    ],
    [
      'entry outside its folder',
      () => {
        writeProvider({ entry: '../../outside.js' });
        write('outside.js', providerCode);
      },
      "is outside the plugin's folder",
    ],
    [
      'entry that is a link to the outside',
      () => {
        writeProvider({ entry: './link.js' });
        write('outside.js', providerCode);
        symlinkSync(join(root, 'outside.js'), join(root, 'providers/cloud/link.js'));
      },
      "is outside the plugin's folder",
    ],
    ['code that does not parse', () => writeProvider({}, 'export class {'), 'cannot be loaded'],
    [
      'code that throws',
      () => writeProvider({}, 'throw new Error("no licence")'),
      'cannot be loaded: no licence',
    ],
    [
      'class that is not exported',
      () => writeProvider({}, 'class Cloud {}'),
      'does not export a class Cloud',
    ],
    [
      'missing method',
      () => writeProvider({}, 'export class Cloud { create() {} delete() {} }'),
      'class Cloud in',
    ],
    [
      'resource that is not there',
      () => writeProvider({ resources: { sizes: { path: './sizes.json', format: 'file' } } }),
      'resources.sizes: file ./sizes.json does not exist in',
    ],
    [
      'resource that is a folder',
      () => {
        writeProvider({ resources: { sizes: { path: './sizes', format: 'file' } } });
        write('providers/cloud/sizes/a.txt', '');
      },
      'file ./sizes does not exist in',
    ],
    [
      'resource outside its folder',
      () => {
        writeProvider({ resources: { keys: { path: './../../keys', format: 'file' } } });
        write('keys', '');
      },
      "resources.keys: ./../../keys is outside the plugin's folder",
    ],
    [
      'folder that is missing',
      () => writeProvider({ resources: { keys: { format: 'folder' } } }),
      'resources.keys.format: is folder, which requires path',
    ],
    [
      'archive that it brings',
      () => {
        writeProvider({ resources: { keys: { path: './keys', format: 'archive' } } });
        write('providers/cloud/keys', '');
      },
      'resources.keys.format: is archive, which cannot be combined with path',
    ],
    [
      'permissions of what it brings',
      () => {
        writeProvider({ resources: { keys: { path: './keys', format: 'file', permissions: '0400' } } });
        write('providers/cloud/keys', '');
      },
      'permissions: cannot be combined with path',
    ],
    [
      'permissions that are none',
      () => writeProvider({ resources: { keys: { format: 'file', permissions: '0999' } } }),
      'resources.keys.permissions',
    ],
    [
      "resource of a provider's field",
      () =>
        writeProvider({
          resources: { keys: { format: 'file' } },
          fields: { user: { key: { title: 'Key', type: 'resource', resource: 'keys' } } },
        }),
      "fields.user.key: cannot accept a resource. Only users' fields of automators can.",
    ],
    [
      'machines that are looked for and cannot be found',
      () => writeProvider({ idempotency: 'tag' }),
      'idempotency: is tag: it requires find(key), which the plugin does not have',
    ],
    [
      'required field that is not declared',
      () => writeProvider({ fields: { admin: {}, required: { admin: [['key']] } } }),
      'names key, which is not a field of admin',
    ],
    [
      'select without options',
      () => writeProvider({ fields: { user: { size: { title: 'Size', type: 'select' } } } }),
      'is of type select, which requires options',
    ],
    [
      'default that the field refuses',
      () => writeProvider({ fields: { user: { n: { title: 'N', type: 'integer', default: 'x' } } } }),
      'fields.user.n.default: is not a valid value of the field',
    ],
    ...(
      [
        [
          'pattern that is not a regular expression',
          { pattern: '(' },
          'pattern: is not a valid regular expression',
        ],
        [
          'pattern that could stall a worker',
          { pattern: '(a)\\1' },
          'pattern: uses syntax that RE2 does not support',
        ],
        [
          'pattern of a number',
          { type: 'number', pattern: 'a' },
          'pattern: applies only to the types string, text, url',
        ],
        ['bound of a flag', { type: 'boolean', min: 1 }, 'min: applies only to the types number, integer'],
        ['length of a text that is not whole', { min: 1.5 }, 'min: must be a whole number'],
        ['entry of a text', { items: { type: 'text' } }, 'items: applies only to the types list, map'],
        ['bound that is not a number', { type: 'integer', max: '30s' }, 'max: must be a number'],
        [
          'bound that is not a duration',
          { type: 'duration', max: 'soon' },
          'max: must be a duration such as "30s"',
        ],
        [
          'minimum above the maximum',
          { type: 'duration', min: '1h', max: '2m' },
          'min: 1h is more than max, 2m',
        ],
        [
          'default out of bounds',
          { type: 'integer', min: 1, default: 0 },
          'default: is not a valid value of the field',
        ],
        ['empty condition', { requiredWhen: {} }, 'requiredWhen: '],
        [
          'condition of an unknown field',
          { requiredWhen: { x: 'given' } },
          'requiredWhen.x: is not another field',
        ],
        [
          'condition of the field itself',
          { requiredWhen: { f: ['a'] } },
          'requiredWhen.f: is not another field',
        ],
        [
          'condition on a value that is impossible',
          { requiredWhen: { g: ['c'] } },
          'g: "c" is not a value of',
        ],
        ['condition that always holds', { requiredWhen: { g: 'given' } }, 'g: is always met'],
      ] as const
    ).map(([title, constraints, expected]): readonly [string, () => void, string] => [
      title,
      () => {
        const g = { title: 'G', type: 'select', options: ['a', 'b'], default: 'a' };
        writeProvider({ fields: { admin: { g, f: { title: 'F', type: 'string', ...constraints } } } });
      },
      expected,
    ]),
    [
      'secret with a default',
      () =>
        writeProvider({
          fields: { admin: { p: { title: 'P', type: 'string', secret: true, default: 'x' } } },
        }),
      'is a secret with a default',
    ],
    [
      'world-writable folder',
      () => {
        writeProvider();
        chmodSync(join(root, 'providers/cloud'), 0o777);
      },
      'may be written by other users (mode 777). chmod go-w',
    ],
    [
      'world-writable entry',
      () => {
        writeProvider();
        chmodSync(join(root, 'providers/cloud/cloud.js'), 0o666);
      },
      'may be written by other users (mode 666)',
    ],
    ['root without plugins', () => undefined, 'contains neither a providers nor an automators folder'],
  ])('%s', async (_, arrange, expected) => {
    arrange();
    expect(await failure()).toContain(expected);
  });

  test('a faulty constraint is reported with its line and column', async () => {
    writeProvider({ fields: { admin: { port: { title: 'Port', type: 'integer', min: 2, max: 1 } } } });
    expect(await failure()).toMatch(/cloud\.json:13:\d+: fields\.admin\.port\.min: 2 is more than max, 1/);
  });

  test.each([
    ['folder of plugins', ''],
    ['folder of providers', 'providers'],
    ["plugin's folder", 'providers/cloud'],
    ['descriptor', 'providers/cloud/cloud.json'],
    ['module', 'providers/cloud/cloud.js'],
    ['file beside them', 'providers/cloud/package.json'],
    ['packages', 'providers/cloud/node_modules'],
  ])('%s of another user', async (_, path) => {
    writeProvider();
    mkdirSync(join(root, 'providers/cloud/node_modules'));
    expect(await failure()).toBe('nothing');
    const restore = pretendForeign(join(root, path));
    expect(await failure().finally(restore)).toMatch(
      /belongs to user \d+, neither to user \d+ nor to root.*chown/,
    );
  });

  // Promise: foreign-plugins
  test('program of another user, which is not executed', async () => {
    writeProvider({ entry: undefined, class: undefined, command: ['./run.sh'] });
    write('providers/cloud/run.sh', `#!/bin/sh\ntouch '${join(root, 'started')}'\n`);
    chmodSync(join(root, 'providers/cloud/run.sh'), 0o755);
    const restore = pretendForeign(join(root, 'providers/cloud/run.sh'));
    expect(await failure().finally(restore)).toContain('belongs to user');
    expect(existsSync(join(root, 'started'))).toBe(false);
  });

  test('module behind a link that others may write', async () => {
    writeProvider();
    write('providers/cloud/real/cloud.js', providerCode);
    rmSync(join(root, 'providers/cloud/cloud.js'));
    symlinkSync('real/cloud.js', join(root, 'providers/cloud/cloud.js'));
    chmodSync(join(root, 'providers/cloud/real/cloud.js'), 0o666);
    expect(await failure()).toContain('may be written by other users (mode 666)');
  });

  test('folder below one that others may write', async () => {
    writeProvider();
    chmodSync(root, 0o777);
    expect(await failure()).toContain(
      `${root} may be written by other users (mode 777). chmod go-w '${root}'`,
    );
  });

  test('a duplicate name', async () => {
    writeProvider();
    writeProvider({}, providerCode, 'providers/second');
    expect(await failure()).toMatch(
      /second\/cloud\.json:1:1: provider cloud already exists, in .*providers\/cloud\/cloud\.json/,
    );
  });

  test('all errors of all plugins at once, and nothing is registered', async () => {
    writeProvider({ version: '1' });
    write('automators/a/a.json', {
      name: 'a',
      type: 'automator',
      entry: './a.mjs',
      class: 'A',
      version: '1.0.0',
      description: 'A.',
    });
    write('automators/a/a.mjs', 'export class A {}');
    const lines: string[] = [];
    const message = await loadRegistry({
      folders: [root],
      builtIn: false,
      log: { info: (line) => lines.push(line) },
    }).catch((error: unknown) => String(error));
    expect(message).toContain('version: "1" is not valid');
    expect(message).toContain('class A in');
    expect(lines).toEqual([]);
  });
});
