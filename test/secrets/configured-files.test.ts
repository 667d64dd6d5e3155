import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/index.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import { allowReferences } from '../../src/secrets/allowed.js';
import { secretSourcesOf } from '../../src/secrets/reference.js';
import { checkSettings, configuredParts } from '../../src/worker/configured-parts.js';
import { reloadConfig } from '../../src/worker/reload-config.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let registry: Registry;
beforeAll(async () => {
  folder = newFolder();
  mkdirSync(join(folder, 'sub'));
  for (const name of ['key', 'my key', 'a,b', 'sub/key', 'other', 'prog.sh'])
    writeFileSync(join(folder, name), `content of ${name}`, { mode: 0o700 });
  registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
});
afterAll(() => registry.close());

describe('a file in a command of heddle.yaml', () => {
  const forms: readonly (readonly [what: string, command: (path: string) => string])[] = [
    ['as a word', (path) => `cat '${path}'`],
    ['after an option', (path) => `cat -n '${path}'`],
    ['glued to an option', (path) => `cat -n'${path}'`],
    ['glued to a long option', (path) => `get --from'${path}'`],
    ['as the value of an option', (path) => `get '--from=${path}'`],
    ['of a variable', (path) => `env 'KEY=${path}' get`],
    ['after an at sign', (path) => `curl -d '@${path}' http://127.0.0.1`],
    ['after a name and an at sign', (path) => `curl -F 'key=@${path}' http://127.0.0.1`],
    ['after a colon', (path) => `openssl rsa -passin 'file:${path}'`],
    ['before a colon', (path) => `run -v '${path}:/key:ro' image`],
    ['before and after other text', (path) => `get 'type=bind,source=${path},target=/key'`],
    ['in a list', (path) => `get 'a,${path}'`],
    ['in a URL', (path) => `curl 'file://${path}'`],
    ['in an encoded URL', (path) => `curl 'file://${path.replaceAll(' ', '%20')}'`],
    ['in a URL with a host', (path) => `curl 'file://localhost${path}'`],
    ['in a command of a shell', (path) => `sh -c "cat '${path}'"`],
    ['in a redirection of a shell', (path) => `sh -c "tr -d x<'${path}';true"`],
    ['in a command of a command of a shell', (path) => `sh -c 'sh -c "cat \\"${path}\\" | tr -d x"'`],
    ['as the program', (path) => `'${path}' --all`],
    ['relative to the working folder', (path) => `cat '${relative(process.cwd(), path)}'`],
    ['relative to the working folder, in an option', (path) => `get '--from=${relative('.', path)}'`],
    ['with further slashes', (path) => `cat '/${path.replaceAll('/', '//')}'`],
  ];

  // Promise: configured-secrets
  describe.each([undefined, ['file:*']])('is reserved (secrets.allow: %j)', (patterns) => {
    it.each(forms)('%s', (_what, command) => {
      for (const name of ['key', 'my key', 'a,b', 'sub/key']) {
        const path = join(folder, name);
        const allows = allowReferences(patterns, [], [`exec:${command(path)}`]);
        expect({ name, allowed: allows(`file:${path}`) }).toEqual({ name, allowed: false });
        // Neither its folder nor its neighbours are.
        expect(allows(`file:${join(folder, 'other')}`)).toBe(true);
        expect(allows(`file:${join(folder, 'absent')}`)).toBe(true);
        const listed = allowReferences([...(patterns ?? []), `file:${path}`], [], [`exec:${command(path)}`]);
        expect(listed(`file:${path}`)).toBe(true);
      }
    });
  });

  it('is reserved before it exists', () => {
    for (const command of ['cat -n/etc/rack/key', 'curl file:///etc/rack/key', 'sh -c "cat /etc/rack/key"']) {
      const allows = allowReferences(undefined, [], [`exec:${command}`]);
      expect({ command, allowed: allows('file:/etc/rack/key') }).toEqual({ command, allowed: false });
      expect(allows('file:/etc/rack/keys')).toBe(true);
    }
  });

  it('is reserved in the home folder of a shell', () => {
    const allows = allowReferences(undefined, [], ['exec:sh -c "cat ~/rack.key"']);
    expect(allows(`file:${join(homedir(), 'rack.key')}`)).toBe(false);
    expect(allows(`file:${join(homedir(), 'app.key')}`)).toBe(true);
  });

  it('reserves no folder', () => {
    const allows = allowReferences(
      undefined,
      [],
      [`exec:ls ${folder} --in=${folder} / "sh -c 'ls ${folder}'"`],
    );
    expect(allows(`file:${join(folder, 'key')}`)).toBe(true);
  });

  it('is found in a long script', () => {
    const script = 'a=@:,'.repeat(800) + join(folder, 'key');
    expect(allowReferences(undefined, [], [`exec:sh -c "${script}"`])(`file:${folder}/key`)).toBe(false);
  });
});

describe('a file that a setting of heddle.yaml names', () => {
  const named: readonly (readonly [setting: string, settings: (path: string) => object])[] = [
    ['cacheFolder', () => ({ cacheFolder: join(folder, 'sub') })],
    ['plugins', () => ({ plugins: [join(folder, 'sub')] })],
    [
      'the command of reservations.notify',
      (path) => ({ reservations: { notify: { command: ['curl', '-K', path] } } }),
    ],
    [
      'an option of the command of reservations.notify',
      (path) => ({ reservations: { notify: { command: ['curl', `--netrc-file=${path}`] } } }),
    ],
    ['the program of a command of builders', (path) => ({ builder: { commands: { deb: { run: [path] } } } })],
    [
      'a script of a command of builders',
      (path) => ({ builder: { commands: { deb: { run: ['sh', '-c', `. ${path}; make`] } } } }),
    ],
    [
      'the program of automator ansible',
      (path) => ({ automators: { ansible: { fields: { program: path } } } }),
    ],
    [
      'a reference of an object store',
      (path) => ({
        store: {
          s3: {
            endpoint: 'https://s3.example.com',
            region: 'here',
            bucket: 'logs',
            accessKeyId: 'id',
            secretAccessKey: { secret: `file:${path}` },
          },
        },
      }),
    ],
  ];
  const load = (settings: object) => {
    const file = join(folder, 'heddle.yaml');
    writeFileSync(file, stringify({ dataFolder: join(folder, 'data'), ...settings }));
    return loadConfig({ configFlag: file, env: { HOME: folder, PATH: '/usr/bin:/bin' } });
  };
  const read = async (config: ReturnType<typeof load>, path: string): Promise<readonly unknown[]> => {
    const parts = configuredParts(config, checkSettings(registry, config), {
      registry,
      temporal: undefined as never,
      secretSources: secretSourcesOf(config),
    });
    const value = { secret: `file:${path}` };
    return [
      parts.forbiddenReferences(value).length === 0,
      await parts.resolveSecrets(value, { writtenBy: 'user', place: 'a cluster file' }).then(
        (secret) => secret.value,
        () => 'refused',
      ),
    ];
  };

  // Promise: configured-secrets
  it.each(named)('is not read for users: %s', async (_setting, settings) => {
    const path = join(folder, 'sub', 'key');
    expect(await read(load({}), path)).toEqual([true, 'content of sub/key']);
    for (const secrets of [{}, { secrets: { allow: ['file:*'] } }]) {
      const config = load({ ...settings(path), ...secrets });
      expect(await read(config, path)).toEqual([false, 'refused']);
      expect(await read(config, join(folder, 'other'))).toEqual([true, 'content of other']);
    }
  });

  // Promise: configured-secrets
  it('is not read for users until the worker that still uses it is restarted', async () => {
    const path = join(folder, 'key');
    const before = load({ builder: { commands: { deb: { run: ['sh', path] } } } });
    const after = load({ builder: { commands: {} } });
    const { config, restart } = reloadConfig(before, after, after);
    expect(restart).toEqual(['builder']);
    expect(await read(config, path)).toEqual([false, 'refused']);
    expect(await read(after, path)).toEqual([true, 'content of key']);
  });
});
