import type { Json } from '../../src/model/json.js';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownPaths } from '../../src/config/own-files.js';
import { planCluster } from '../../src/activities/cluster/plan.js';
import { type Config, loadConfig } from '../../src/config/index.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import { PluginError } from '../../src/plugins/errors.js';
import { allowReferences } from '../../src/secrets/allowed.js';
import { forbiddenReferences, secretSourcesOf } from '../../src/secrets/reference.js';
import { checkSettings, configuredParts, type ConfiguredParts } from '../../src/worker/configured-parts.js';
import { configSchema } from '../../src/schema/config.js';
import { newFolder } from '../harness/folder.js';

describe('references in cluster files', () => {
  it.each<readonly [string, readonly string[] | undefined, boolean]>([
    ['exec:cat /etc/shadow', undefined, false],
    ['exec:cat /etc/shadow', ['exec:cat /etc/shadow'], true],
    ['exec:cat /etc/shadow', [], false],
    ['env:APP_TOKEN', ['env:APP_*'], true],
    ['env:OTHER', ['env:APP_*'], false],
    ['env:APP_A\nfile:/x', ['env:APP_A'], false],
    ['file:/etc/app/token', ['file:/etc/app/*'], true],
    ['file:/etc/app/../shadow', ['file:/etc/app/*'], false],
    ['file:/etc/app//token', ['file:/etc/app/*'], false],
    ['file:/etc/application', ['file:/etc/app/*'], false],
    ['vault:secret/data/app#token', ['vault:secret/data/app#*'], true],
    ['vault:secret/data/app.x', ['vault:secret/data/app?x'], false],
    ['vault:secret/data/app/x#token', ['vault:secret/data/app/*#token'], true],
    ['env:a+b', ['env:a+b'], true],
    ['env:aab', ['env:a+b'], false],
  ])('%j with %j: %j', (reference, patterns, allowed) => {
    expect(allowReferences(patterns)(reference)).toBe(allowed);
  });

  const words: readonly (readonly [reference: string, pattern: string, allowed: boolean])[] = [
    ['exec:get app/token', 'exec:get app/*', true],
    ['exec:get   "app/a b"', 'exec:get app/*', true],
    ['exec:get app/token --output /etc/cron.d/x', 'exec:get app/*', false],
    ['exec:get app/token', 'exec:get app/* *', false],
    ['exec:get', 'exec:get *', false],
    ['exec:get token', 'exec:get *', true],
    ['exec:get --address=http://attacker', 'exec:get *', false],
    ["exec:get '-'-address=http://attacker", 'exec:get *', false],
    [String.raw`exec:get \-x`, 'exec:get *', false],
    ['exec:get -x', 'exec:get -*', true],
    ['exec:get -x', 'exec:get -x', true],
    ['exec:get app/../root', 'exec:get app/*', false],
    ['exec:get app/x..y', 'exec:get app/*', true],
    ['exec:get ..', 'exec:get *', false],
    ['exec:get --file=../key', 'exec:get --file=*', false],
    ['exec:get ../key', 'exec:get ../key', true],
    ['exec:get "app/a\nb"', 'exec:get app/*', false],
    ['exec:get "app/a', 'exec:get app/*', false],
    ['exec:/opt/bin/get x', 'exec:/opt/*', false],
    ['vault:secret/data/other#key#token', 'vault:secret/data/*#token', false],
    ['vault:secret/data/app/../root#token', 'vault:secret/data/app/*#*', false],
    ['vault:secret/data/app#x', 'vault:secret/data/app#*', true],
    ['env:-x', 'env:*', false],
  ];
  // Promise: references-by-word
  it.each(words)('match word by word: %j with %j: %j', (reference, pattern, allowed) => {
    expect(allowReferences([pattern])(reference)).toBe(allowed);
  });

  it('match a long word in linear time', () => {
    const reference = `exec:get ${'a'.repeat(60_000)}`;
    expect(allowReferences([`exec:get ${'*a'.repeat(40)}b`])(reference)).toBe(false);
  });

  // Promise: own-files
  it.each([undefined, ['file:*', 'env:*']])(
    'never name a file of Heddle itself, by any path (secrets.allow: %j)',
    (patterns) => {
      const folder = newFolder();
      const [own, elsewhere] = [join(folder, 'data'), join(folder, 'elsewhere')];
      for (const made of [join(own, 'keys'), elsewhere]) mkdirSync(made, { recursive: true });
      for (const file of [
        join(own, 'keys', 'key'),
        join(own, 'dev.json'),
        join(elsewhere, 'token'),
        join(folder, 'data-of-app'),
      ])
        writeFileSync(file, 'x');
      symlinkSync(join(own, 'keys', 'key'), join(elsewhere, 'link'));
      symlinkSync(own, join(elsewhere, 'folder'));
      const config = join(folder, 'heddle.yaml');
      writeFileSync(config, 'x');
      const allows = allowReferences(patterns, [own, config]);
      for (const path of [
        own,
        join(own, 'keys', 'key'),
        join(own, 'secrets', 'account', 'not-there-yet'),
        join(elsewhere, 'link'),
        join(elsewhere, 'folder', 'dev.json'),
        join(elsewhere, 'folder', 'not-there'),
        `${elsewhere}/../data/dev.json`,
        `${folder}//data/dev.json`,
        relative(process.cwd(), join(own, 'dev.json')),
        `/proc/self/root${join(own, 'dev.json')}`,
        config,
      ])
        expect({ path, allowed: allows(`file:${path}`) }).toEqual({ path, allowed: false });
      for (const path of [join(elsewhere, 'token'), join(folder, 'data-of-app')])
        expect({ path, allowed: allows(`file:${path}`) }).toEqual({ path, allowed: true });
      rmSync(folder, { recursive: true });
    },
  );

  // Promise: own-variables
  it("never name the worker's credentials for the server or the vault", () => {
    for (const name of ['HEDDLE_KEYS', 'TEMPORAL_API_KEY', 'TEMPORAL_TLS_CLIENT_KEY_DATA', 'VAULT_TOKEN']) {
      expect({ name, allowed: allowReferences(undefined)(`env:${name}`) }).toEqual({ name, allowed: false });
      expect({ name, allowed: allowReferences(['env:*'])(`env:${name}`) }).toEqual({ name, allowed: false });
    }
    expect(allowReferences(undefined)('env:APP_VAULT_TOKEN')).toBe(true);
  });

  // Promise: configured-secrets
  it.each([undefined, ['env:*', 'file:*', 'vault:*#*']])(
    'never name what heddle.yaml refers to, unless secrets.allow has it word for word (secrets.allow: %j)',
    (patterns) => {
      const own = ['env:RACK_PASSWORD', 'file:/etc/rack/key', 'vault:secret/data/rack#password'];
      const allows = allowReferences(patterns, [], own);
      for (const reference of [...own, 'file:/etc/../etc/rack/key', 'file:/proc/self/root/etc/rack/key'])
        expect({ reference, allowed: allows(reference) }).toEqual({ reference, allowed: false });
      for (const reference of ['env:OTHER', 'file:/etc/rack/other', 'vault:secret/data/rack#other'])
        expect({ reference, allowed: allows(reference) }).toEqual({ reference, allowed: true });
      const both = allowReferences([...(patterns ?? []), 'env:RACK_PASSWORD'], [], own);
      expect([both('env:RACK_PASSWORD'), both('file:/etc/rack/key')]).toEqual([true, false]);
    },
  );

  // Promise: configured-secrets
  it('never run a command of heddle.yaml in other words, unless secrets.allow has it', () => {
    const own = ['exec:pass show hetzner'];
    const patterns = ['exec:pass show *', 'exec:pass  show "listed"'];
    const allows = allowReferences(patterns, [], [...own, 'exec:pass show listed']);
    for (const reference of [
      ...own,
      'exec:pass  show hetzner',
      'exec: pass show hetzner ',
      'exec:pass show "hetzner"',
      "exec:pa'ss' show het\\zner",
    ])
      expect({ reference, allowed: allows(reference) }).toEqual({ reference, allowed: false });
    for (const reference of ['exec:pass show other', 'exec:pass show listed'])
      expect({ reference, allowed: allows(reference) }).toEqual({ reference, allowed: true });
  });

  // Promise: configured-secrets
  it.each([undefined, ['file:*']])(
    'never name a file that a command of heddle.yaml reads (secrets.allow: %j)',
    (patterns) => {
      const own = ['exec:cat /etc/rack/key', "exec:get --from='/etc/rack/other key' @/etc/rack/third /etc"];
      const allows = allowReferences(patterns, [], own);
      for (const file of ['key', 'other key', 'third'])
        expect({ file, allowed: allows(`file:/etc/rack/${file}`) }).toEqual({ file, allowed: false });
      expect(allows('file:/etc/rack/keys')).toBe(true);
      expect(allowReferences(['file:/etc/rack/key'], [], own)('file:/etc/rack/key')).toBe(true);
    },
  );

  // Promise: own-files
  it("never name files with the worker's credentials for Temporal and Vault", () => {
    const folder = newFolder();
    const toml = join(folder, 'own.toml');
    const profile = (name: string, key: string): string =>
      `[profile.${name}.tls]\nclient_key_path = "${key}"\nclient_cert_path = "${toml}"\n`;
    const [key, other, byVariable] = ['key', 'other', 'variable'].map((name) => join(folder, name));
    for (const file of [key, other, byVariable]) writeFileSync(file ?? '', 'x');
    writeFileSync(toml, profile('default', key ?? '') + profile('staging', other ?? ''));
    const load = (more: Readonly<Record<string, string>>): Config =>
      loadConfig({ cwd: folder, env: { HOME: folder, ...more } });
    const closed = ownPaths(
      load({ TEMPORAL_CONFIG_FILE: toml, TEMPORAL_TLS_CLIENT_KEY_PATH: byVariable ?? '' }),
    );
    const allows = allowReferences(['file:*'], closed);
    for (const file of [
      toml,
      key,
      other,
      byVariable,
      join(folder, '.config', 'temporalio', 'temporal.toml'),
      join(folder, '.vault-token'),
    ])
      expect({ file, allowed: allows(`file:${file}`) }).toEqual({ file, allowed: false });
    expect(ownPaths(load({}))).toContain(join(folder, '.config', 'temporalio', 'temporal.toml'));
    expect(allows(`file:${join(folder, '.config', 'app.toml')}`)).toBe(true);
    rmSync(folder, { recursive: true });
  });

  it('references are found at any depth', () => {
    const value = { a: [{ secret: 'env:NO' }, 'env:NO'], b: { c: { secret: 'env:YES' } }, secret: 'env:NO' };
    expect(forbiddenReferences(value, allowReferences(['env:YES']))).toEqual([['a', 0]]);
  });

  it('a reference is refused with its place before anything is created', async () => {
    const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
    const parts = {
      registry,
      providers: { local: { type: 'local', site: 'here', fields: {} } },
      features: { searchAttributes: false },
      settings: configSchema.parse({}),
      forbiddenReferences: (value: Json) => forbiddenReferences(value, allowReferences(['env:APP_*'])),
      outputs: { outputs: async () => undefined, sources: async () => undefined },
    };
    const script = (secret: string): object => ({
      type: 'shell',
      fields: { script: 'true', environment: { TOKEN: { secret } } },
    });
    const spec = {
      name: 'web',
      nodes: { app: { count: 1, provider: 'local', hardware: 'small', image: 'host', services: ['app'] } },
      config: { key: { secret: 'file:/etc/shadow' } },
      services: { app: { actions: { install: script('env:APP_TOKEN'), start: script('exec:id') } } },
    };
    const planned = planCluster(parts, {
      clusterName: 'web',
      intent: { kind: 'apply' },
      spec,
      current: { uid: 'u', nodes: {}, services: {}, stopped: [], incarnation: 0, nodenum: 0 },
    } as never);
    await expect(planned).rejects.toThrow(
      /services\.app\.actions\.start\.fields\.environment\.TOKEN: refers to a secret that cluster files may not use here[^]*config\.key: refers/,
    );
    await expect(planned).rejects.not.toThrow(/actions\.install/);
    await registry.close();
  });
});

describe('a worker, by its heddle.yaml and its environment', () => {
  let folder: string;
  let registry: Registry;
  beforeAll(async () => {
    folder = newFolder();
    for (const name of ['data/keys', 'store', '.config/temporalio', 'tls'])
      mkdirSync(join(folder, name), { recursive: true });
    for (const name of files) writeFileSync(join(folder, name), 'content');
    writeFileSync(join(folder, 'temporal.toml'), '[profile.default]\napi_key = "content"\n');
    registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  });
  afterAll(() => registry.close());

  const files = [
    'app',
    'rack.key',
    'data/keys/key',
    'store/log',
    'tls/client.key',
    'tls/client.pem',
    '.config/temporalio/temporal.toml',
    '.vault-token',
  ];
  const environment = {
    APP_TOKEN: 'content',
    RACK_PASSWORD: 'content',
    HOOK: 'content',
    CLOUD_TOKEN: 'content',
    TOOL_TOKEN: 'content',
    HEDDLE_CODEC_TOKEN: 'content',
    TEMPORAL_API_KEY: 'content',
    VAULT_TOKEN: 'content',
  };

  const open = (secrets?: object): ConfiguredParts => {
    const file = join(folder, 'heddle.yaml');
    const rack = {
      type: 'static',
      fields: {
        keyFile: join(folder, 'rack.key'),
        machines: [{ name: 'a', address: '127.0.0.1', password: { secret: 'env:RACK_PASSWORD' } }],
      },
    };
    writeFileSync(
      file,
      stringify({
        dataFolder: join(folder, 'data'),
        keys: { folder: join(folder, 'data/keys') },
        store: { folder: join(folder, 'store') },
        providers: { rack },
        webhooks: { ci: { url: 'https://ci.example.com', secret: { secret: 'env:HOOK' } } },
        pluginEnvironment: { cloud: ['CLOUD_TOKEN'] },
        ...(secrets === undefined ? {} : { secrets }),
      }),
    );
    const config = loadConfig({
      configFlag: file,
      env: {
        HOME: folder,
        PATH: '/usr/bin:/bin',
        TEMPORAL_CONFIG_FILE: join(folder, 'temporal.toml'),
        TEMPORAL_TLS_CLIENT_KEY_PATH: join(folder, 'tls/client.key'),
        TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'tls/client.pem'),
        ...environment,
      },
    });
    const secretSources = secretSourcesOf(config);
    return configuredParts(config, checkSettings(registry, config), {
      registry,
      temporal: undefined as never,
      secretSources,
    });
  };
  const read = async (parts: ConfiguredParts, reference: string): Promise<unknown> => {
    const value = { secret: reference };
    const planned = parts.forbiddenReferences(value).length === 0;
    const resolved = await parts.resolveSecrets(value, { writtenBy: 'user', place: 'a cluster file' }).then(
      (secret) => secret.value,
      (error: unknown) => (error instanceof PluginError && error.kind === 'Auth' ? 'refused' : error),
    );
    return [planned, resolved];
  };

  const closed = [false, 'refused'];
  const everything = { allow: ['env:*', 'file:*'] };

  // Promise: own-files
  it.each([undefined, everything])(
    'reads no file of Heddle, Temporal or Vault for users (secrets: %j)',
    async (secrets) => {
      const parts = open(secrets);
      expect(await read(parts, `file:${join(folder, 'app')}`)).toEqual([true, 'content']);
      for (const name of [
        'heddle.yaml',
        'data/keys/key',
        'store/log',
        'temporal.toml',
        '.config/temporalio/temporal.toml',
        'tls/client.key',
        'tls/client.pem',
        '.vault-token',
      ])
        expect([name, await read(parts, `file:${join(folder, name)}`)]).toEqual([name, closed]);
    },
  );

  // Promise: own-variables
  it.each([undefined, everything])(
    'reads no variable of Heddle, Temporal or Vault for users (secrets: %j)',
    async (secrets) => {
      const parts = open(secrets);
      expect(await read(parts, 'env:APP_TOKEN')).toEqual([true, 'content']);
      for (const name of ['HEDDLE_CODEC_TOKEN', 'TEMPORAL_API_KEY', 'VAULT_TOKEN'])
        expect([name, await read(parts, `env:${name}`)]).toEqual([name, closed]);
    },
  );

  // Promise: configured-secrets
  it.each([undefined, everything])(
    'reads no secret of heddle.yaml for users (secrets: %j)',
    async (secrets) => {
      const parts = open(secrets);
      for (const reference of [
        'env:RACK_PASSWORD',
        'env:HOOK',
        'env:CLOUD_TOKEN',
        `file:${join(folder, 'rack.key')}`,
      ])
        expect([reference, await read(parts, reference)]).toEqual([reference, closed]);
      const listed = open({ allow: ['env:*', 'env:HOOK'] });
      expect(await read(listed, 'env:HOOK')).toEqual([true, 'content']);
      expect(await read(listed, 'env:RACK_PASSWORD')).toEqual(closed);
    },
  );

  // Promise: command-environment
  it('runs a listed command for users, with the variables that heddle.yaml grants', async () => {
    const command = 'exec:/usr/bin/env';
    expect(await read(open(), command)).toEqual(closed);
    expect(await read(open(everything), command)).toEqual(closed);
    const [planned, output] = (await read(
      open({ allow: [command, 'env:*'], environment: ['TOOL_TOKEN'] }),
      command,
    )) as readonly [boolean, string];
    const names = output.split('\n').map((line) => line.split('=')[0]);
    expect([planned, new Set(names)]).toEqual([true, new Set(['TOOL_TOKEN', 'HOME', 'PATH'])]);
    // What the command may use, its users may not read.
    expect(await read(open({ allow: ['env:*'], environment: ['TOOL_TOKEN'] }), 'env:TOOL_TOKEN')).toEqual(
      closed,
    );
  });
});
