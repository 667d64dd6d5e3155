import { chmodSync, chownSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { loadConfig, type Config, type Environment } from '../../src/config/index.js';
import { pretendForeign } from '../harness/foreign.js';
import { prepareFolder } from '../../src/config/prepare-folder.js';
import { newFolder } from '../harness/folder.js';

let home: string;
let cwd: string;
beforeEach(() => {
  home = newFolder();
  cwd = join(home, 'work');
  mkdirSync(cwd);
});

function write(path: string, content: string): string {
  const file = join(home, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, content);
  return file;
}

const load = (env: Environment = {}, configFlag?: string): Config =>
  loadConfig({ configFlag, cwd, env: { HOME: home, ...env } });

function failure(env: Environment = {}, flag?: string): string {
  try {
    load(env, flag);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'nothing';
}

describe('the configuration', () => {
  test('has a default for everything', () => {
    expect(load()).toMatchObject({
      dataFolder: join(home, '.local/share/heddle'),
      cacheFolder: join(home, '.cache/heddle'),
      keys: { folder: join(home, '.local/share/heddle/keys') },
      store: { folder: join(home, '.local/share/heddle/store') },
      site: 'default',
      providers: {},
      plugins: [],
      encryption: 'required',
      temporal: { configured: false, address: '127.0.0.1:7233', namespace: 'default' },
      origins: { dataFolder: 'default', site: 'default' },
    });
    expect(load().file).toBeUndefined();
  });

  test('follows the XDG base folders, unless they are relative', () => {
    expect(load({ XDG_DATA_HOME: '/d', XDG_CACHE_HOME: 'relative' })).toMatchObject({
      dataFolder: '/d/heddle',
      cacheFolder: join(home, '.cache/heddle'),
    });
  });

  test('is found by flag, variable, working folder and user folder, in this order', () => {
    const user = write('.config/heddle/heddle.yaml', 'site: user');
    expect(load()).toMatchObject({ site: 'user', file: user });
    const here = write('work/heddle.yaml', '# nothing yet\n\nsite: here\n');
    expect(load()).toMatchObject({ site: 'here', file: here, origins: { site: `${here}:3` } });
    const variable = write('variable.yaml', 'site: variable');
    expect(load({ HEDDLE_CONFIG: variable }).site).toBe('variable');
    write('work/flag.yaml', 'site: flag');
    expect(load({ HEDDLE_CONFIG: variable }, 'flag.yaml').site).toBe('flag');
    expect(load({ HEDDLE_SITE: 'env' }, 'flag.yaml')).toMatchObject({
      site: 'env',
      origins: { site: 'HEDDLE_SITE' },
    });
  });

  test('of an empty file is the default', () => {
    write('work/heddle.yaml', '\n# only words\n');
    expect(load().site).toBe('default');
  });

  test('resolves paths relative to its file, to the home folder, or as absolute', () => {
    write(
      'work/heddle.yaml',
      'dataFolder: ./data\ncacheFolder: ~/cache\nkeys: {folder: /etc/keys}\nplugins: [./plugins, heddle-plugin-x]\n',
    );
    for (const folder of ['work/plugins', 'node_modules/heddle-plugin-x'])
      mkdirSync(join(home, folder), { recursive: true });
    expect(load()).toMatchObject({
      dataFolder: join(cwd, 'data'),
      cacheFolder: join(home, 'cache'),
      keys: { folder: '/etc/keys' },
      store: { folder: join(cwd, 'data/store') },
      plugins: [join(cwd, 'plugins'), join(home, 'node_modules/heddle-plugin-x')],
    });
  });

  test('gives the object store of the logs, and refuses one that cannot be meant', () => {
    const s3 = (more: string): string =>
      `store: {s3: {endpoint: "https://s3.example.org", bucket: logs, accessKeyId: AK, secretAccessKey: {secret: "env:S3"}${more}}}\n`;
    write('work/heddle.yaml', s3(''));
    expect(load().store.s3).toEqual({
      ...{ endpoint: 'https://s3.example.org', bucket: 'logs', region: 'us-east-1', prefix: '' },
      ...{ accessKeyId: 'AK', secretAccessKey: { secret: 'env:S3' } },
    });
    write(
      'work/heddle.yaml',
      s3(', prefix: logs').replace('https:', 'http:').replace('{secret: "env:S3"}', 'typed'),
    );
    const message = failure();
    for (const part of [
      'store.s3.endpoint',
      'unencrypted',
      'store.s3.prefix',
      'slash',
      'store.s3.secretAccessKey',
    ])
      expect(message).toContain(part);
    expect(message).not.toContain('typed');
  });

  test('gives the address of the metrics; a variable overrides the file, and neither may be a name', () => {
    expect(load().metrics?.address).toBeUndefined();
    write('work/heddle.yaml', 'metrics: {address: "127.0.0.1:9464"}\n');
    expect(load().metrics?.address).toBe('127.0.0.1:9464');
    expect(load({ HEDDLE_METRICS: '[::1]:9465' }).metrics?.address).toBe('[::1]:9465');
    expect(failure({ HEDDLE_METRICS: 'localhost' })).toContain(
      'HEDDLE_METRICS is "localhost". It must be an address and a port, such as 127.0.0.1:9464.',
    );
    write('work/heddle.yaml', 'metrics: {address: "localhost:9464"}\n');
    expect(failure()).toContain('metrics.address: "localhost:9464" is not valid');
  });

  test('reads settings for plugins, with times in seconds', () => {
    write(
      'work/heddle.yaml',
      'pluginLimits:\n  my_cloud: {memoryMb: 256, time: 1m30s, processes: 8}\n  other: {}\n',
    );
    expect(load().programs.limits).toEqual({
      my_cloud: { memoryMb: 256, time: 90, processes: 8 },
      other: {},
    });
    write('work/heddle.yaml', 'pluginLimits:\n  my_cloud: {memory: 256}\n');
    expect(failure()).toContain(
      'heddle.yaml:2:14: pluginLimits.my_cloud.memory: is an unknown key. Did you mean "memoryMb"?',
    );
  });

  test("gives providers the worker's site unless they name another", () => {
    write(
      'work/heddle.yaml',
      'site: lab\nproviders:\n  one: {type: local}\n  two: {type: local, site: far, hardware: {small: s}, limits: {ratePerSecond: 2}, fields: {k: {secret: "env:K"}}}\n',
    );
    expect(load().providers).toEqual({
      one: { type: 'local', site: 'lab', fields: {} },
      two: {
        type: 'local',
        site: 'far',
        hardware: { small: 's' },
        limits: { ratePerSecond: 2 },
        fields: { k: { secret: 'env:K' } },
      },
    });
  });

  test("leaves the connection to Temporal's own settings", () => {
    const toml = write(
      'temporal.toml',
      '[profile.default]\naddress = "temporal.example:7233"\nnamespace = "ours"\n',
    );
    expect(load({ TEMPORAL_CONFIG_FILE: toml }).temporal).toMatchObject({
      configured: true,
      address: 'temporal.example:7233',
      namespace: 'ours',
    });
    expect(load({ TEMPORAL_CONFIG_FILE: toml, TEMPORAL_NAMESPACE: 'mine' }).temporal.namespace).toBe('mine');
    expect(failure({ TEMPORAL_PROFILE: 'absent', TEMPORAL_CONFIG_FILE: toml })).toContain(
      `${toml} has no profile "absent". It was set by --profile or TEMPORAL_PROFILE.`,
    );
  });

  test.each([
    [
      'webhooks.chat.url',
      'webhooks: {chat: {url: "https://user:pass-word@hooks.example.com", secret: {secret: "env:S"}}}',
    ],
    ['reservations.notify.url', 'reservations: {notify: {url: "https://user:pass-word@hooks.example.com"}}'],
    [
      'store.s3.endpoint',
      'store: {s3: {endpoint: "https://user:pass-word@s3.example.com", bucket: logs, accessKeyId: a, secretAccessKey: {secret: "env:S"}}}',
    ],
  ])('refuses a user or a password in %s, and does not show it', (setting, text) => {
    const message = failure({}, write('receivers.yaml', text));
    expect(message).toMatch(new RegExp(`${setting}: .*contains a user or a password`));
    expect(message).not.toContain('pass-word');
  });

  test.each<[string, Record<string, string>, string]>([
    ['an empty address', { TEMPORAL_ADDRESS: '' }, 'TEMPORAL_ADDRESS is empty. Set it, or unset it.'],
    [
      'a URL',
      { TEMPORAL_ADDRESS: 'http://127.0.0.1:7233' },
      'TEMPORAL_ADDRESS is "http://127.0.0.1:7233", a URL. The form is host:port',
    ],
    ['no such port', { TEMPORAL_ADDRESS: 'here:99999' }, 'a port is a number from 1 to 65535'],
    ['two words', { TEMPORAL_ADDRESS: 'a b:7233' }, 'TEMPORAL_ADDRESS is "a b:7233", no host and port'],
    ['an empty namespace', { TEMPORAL_NAMESPACE: ' ' }, 'TEMPORAL_NAMESPACE is empty'],
    ['another word for true', { TEMPORAL_TLS: 'yes' }, 'TEMPORAL_TLS is "yes". It must be true or false.'],
    [
      'a certificate that is missing',
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/absent.pem' },
      'cannot read /absent.pem: there is no such file',
    ],
    [
      'a file that is missing',
      { TEMPORAL_CONFIG_FILE: '/absent.toml' },
      '/absent.toml:1:1: cannot read the settings of Temporal: there is no such file. It was set by TEMPORAL_CONFIG_FILE.',
    ],
    [
      'a site with a blank',
      { HEDDLE_SITE: 'my site' },
      'HEDDLE_SITE is "my site". The name of a site consists of',
    ],
    ['a blank site', { HEDDLE_SITE: ' ' }, 'HEDDLE_SITE is empty. Set it, or unset it.'],
    ['an empty configuration', { HEDDLE_CONFIG: '' }, 'HEDDLE_CONFIG is empty. Set it, or unset it.'],
    ['an empty data folder', { HEDDLE_DATA_FOLDER: '' }, 'HEDDLE_DATA_FOLDER is empty'],
    ['no keys', { HEDDLE_KEYS: '' }, 'HEDDLE_KEYS is empty'],
    [
      'an address without a port',
      { TEMPORAL_ADDRESS: 'localhost' },
      'TEMPORAL_ADDRESS is "localhost", which has no port. The form is host:port',
    ],
  ])('is refused with the variable and the right form: %s', (_, env, wrong) => {
    expect(failure(env)).toContain(wrong);
  });

  test('is refused with the place in a broken temporal.toml, and for a wrong address in it', () => {
    const broken = write('broken.toml', '[profile.default]\naddress = [\n');
    expect(failure({ TEMPORAL_CONFIG_FILE: broken })).toMatch(/broken\.toml:\d+:\d+: Invalid TOML/);
    const url = write('url.toml', '[profile.default]\naddress = "https://x:1"\n');
    expect(failure({ TEMPORAL_CONFIG_FILE: url })).toContain('the address in temporal.toml is "https://x:1"');
  });

  test('is refused for a folder that is a file, or below one, with the origin of its name', () => {
    const file = write('file', '');
    expect(failure({ HEDDLE_DATA_FOLDER: file })).toContain(
      `dataFolder: ${file} is not a folder; it was set by HEDDLE_DATA_FOLDER`,
    );
    expect(failure({ HEDDLE_DATA_FOLDER: join(file, 'below') })).toContain('leads through a file');
    const config = write('work/heddle.yaml', `store: {folder: ${file}}\n`);
    expect(failure()).toContain(`storeFolder: ${file} is not a folder; it was set by ${config}:1`);
  });

  test('is refused if the named file is absent, with the origin of the name', () => {
    expect(failure({}, 'absent.yaml')).toContain(
      `${join(cwd, 'absent.yaml')}:1:1: cannot read the configuration: there is no such file. It was set by --config.`,
    );
    expect(failure({ HEDDLE_CONFIG: '/absent' })).toContain('It was set by HEDDLE_CONFIG.');
  });

  test('is refused for variables of build commands without a usable pattern', () => {
    const file = write(
      'work/heddle.yaml',
      `builder:
  commands:
    debian:
      run: [/bin/make]
      variables:
        LOOK: '(?=x)'
        OPEN: '['
        HEDDLE_OUTPUT: '.*'
        A-B: '.*'
`,
    );
    const of = 'builder.commands.debian.variables';
    expect(failure().split('\n').toSorted()).toEqual([
      expect.stringContaining(`${file}:6:9: ${of}.LOOK: "(?=x)" uses syntax that RE2 does not support`),
      expect.stringContaining(`${file}:7:9: ${of}.OPEN: "[" is not a valid regular expression`),
      expect.stringContaining(
        `${file}:8:9: ${of}.HEDDLE_OUTPUT: "HEDDLE_OUTPUT" is not a valid name. HEDDLE_ variables are reserved`,
      ),
      expect.stringContaining(`${file}:9:9: ${of}.A-B: "A-B" is not a valid name`),
      'The configuration cannot be used:',
    ]);
  });

  test('is refused for patterns of secrets that could match no reference', () => {
    const file = write(
      'work/heddle.yaml',
      'secrets:\n  allow:\n    - "exec:get \'app/*"\n    - "exec:"\n    - "vault:secret/data/*"\n    - "env:APP_*"\n',
    );
    expect(failure().split('\n').slice(1)).toEqual([
      expect.stringMatching(/heddle\.yaml:3:7: secrets\.allow\[0\]: .* has an unclosed quote/),
      expect.stringContaining(`${file}:4:7: secrets.allow[1]: "exec:" does not name a program`),
      expect.stringContaining(
        `${file}:5:7: secrets.allow[2]: "vault:secret/data/*" must be vault:PATH#FIELD`,
      ),
    ]);
  });

  test('is refused with the place of every error', () => {
    const file = write(
      'work/heddle.yaml',
      'sites: x\nproviders:\n  one:\n    limits: {ratePerSecond: 0}\nencryption: maybe\nplugins: [x]\n',
    );
    expect(failure().split('\n')).toEqual([
      'The configuration cannot be used:',
      expect.stringContaining(`${file}:1:1: sites: is an unknown key. Did you mean "site"?`),
      expect.stringContaining(`${file}:3:3: providers.one.type: is missing. Name of the provider plugin`),
      expect.stringContaining(
        `${file}:4:14: providers.one.limits.ratePerSecond: is 0, but must be at least 0.001`,
      ),
      expect.stringContaining(`${file}:5:1: encryption: "maybe" is not allowed. Known: required, optional.`),
    ]);
    write('work/heddle.yaml', 'plugins: [heddle-plugin-absent]\n');
    expect(failure()).toContain('plugins: package heddle-plugin-absent is not installed');
    write('work/heddle.yaml', 'plugins: [./absent]\n');
    expect(failure()).toContain(`${file}:1:11: plugins: the folder ${join(cwd, 'absent')} does not exist`);
  });
});

describe('a heddle.yaml that was found, not named', () => {
  // Promise: foreign-configuration
  test.each([['work/heddle.yaml'], ['.config/heddle/heddle.yaml']])(
    'is refused if it belongs to another user (%s)',
    (path) => {
      const file = write(path, 'site: planted\n');
      const restore = pretendForeign(file);
      try {
        expect(failure()).toMatch(
          /heddle\.yaml belongs to user \d+, neither to user \d+ nor to root.*chown.*--config/s,
        );
        expect(load({}, file).site).toBe('planted');
        expect(load({ HEDDLE_CONFIG: file }).site).toBe('planted');
      } finally {
        restore();
      }
    },
  );

  test('is refused if its folder belongs to another user', () => {
    write('work/heddle.yaml', 'site: planted\n');
    const restore = pretendForeign(cwd);
    try {
      expect(failure()).toMatch(/work belongs to user \d+, neither to user \d+ nor to root/);
    } finally {
      restore();
    }
  });

  test('is refused if others may write it, its folder or a folder above', () => {
    const file = write('work/heddle.yaml', 'site: planted\n');
    for (const [path, mode] of [
      [file, 0o646],
      [cwd, 0o777],
      [home, 0o733],
    ] as const) {
      const before = statSync(path).mode;
      chmodSync(path, mode);
      expect(failure()).toContain(`${path} may be written by other users (mode ${mode.toString(8)})`);
      expect(failure()).toContain(`chmod go-w '${path}'`);
      chmodSync(path, before);
    }
    expect(load().site).toBe('planted');
  });

  test("is refused if a group other than the owner's may write it", () => {
    const file = write('work/heddle.yaml', 'site: planted\n');
    const { uid, gid } = statSync(file);
    chmodSync(file, 0o664);
    // A group with the owner's number is the owner's private group.
    expect(failure()).toContain(uid === gid ? 'nothing' : 'may be written by other users');
    if (uid !== 0) return;
    chownSync(file, 0, 12_345);
    expect(failure()).toContain('may be written by other users (mode 664)');
  });

  test("is accepted below a folder with the sticky bit, such as /tmp, and through the user's own link", () => {
    write('elsewhere/heddle.yaml', 'site: mine\n');
    chmodSync(home, 0o1777);
    symlinkSync('../elsewhere/heddle.yaml', join(cwd, 'heddle.yaml'));
    expect(load().site).toBe('mine');
    chmodSync(join(home, 'elsewhere'), 0o777);
    expect(failure()).toContain(`${join(home, 'elsewhere')} may be written by other users`);
  });
});

describe('a link without its target in place of heddle.yaml', () => {
  test.each([['work/heddle.yaml'], ['.config/heddle/heddle.yaml']])(
    'is refused, named or not (%s)',
    (path) => {
      const file = write(path, 'site: mine\n');
      rmSync(file);
      expect(load().site).toBe('default');
      symlinkSync('../gone.yaml', file);
      const wrong = `${file}:1:1: cannot read the configuration: it is a link to ../gone.yaml, which does not exist`;
      expect(failure()).toContain(wrong);
      expect(() => load({}, file)).toThrow(wrong);
      // `provider add` would replace the link.
      expect(() => loadConfig({ configFlag: file, env: { HOME: home }, mayBeMissing: true })).toThrow(wrong);
      writeFileSync(join(dirname(file), '../gone.yaml'), 'site: back\n');
      expect(load().site).toBe('back');
    },
  );

  test('is refused if it leads to itself, or other users could create its target', () => {
    const file = join(cwd, 'heddle.yaml');
    symlinkSync('heddle.yaml', file);
    expect(failure()).toContain('cannot read the configuration');
    rmSync(file);
    mkdirSync(join(home, 'shared'));
    chmodSync(join(home, 'shared'), 0o1777);
    symlinkSync('../shared/heddle.yaml', file);
    expect(failure()).toContain('does not exist, and other users could create it');
  });
});

describe('a private folder', () => {
  test('is created so that only its owner can read it', () => {
    prepareFolder(join(home, 'a/b'));
    expect(statSync(join(home, 'a/b')).mode & 0o777).toBe(0o700);
    prepareFolder(join(home, 'a/b'));
  });

  test('is refused with the command that repairs it if others may read it', () => {
    mkdirSync(join(home, 'open'));
    chmodSync(join(home, 'open'), 0o750);
    expect(() => {
      prepareFolder(join(home, 'open'));
    }).toThrow(`is accessible to other users (mode 750). chmod go= '${join(home, 'open')}'`);
  });

  test('is refused if it belongs to another user', () => {
    const isRoot = process.getuid?.() === 0;
    const foreign = isRoot ? join(home, 'foreign') : '/';
    if (isRoot) {
      mkdirSync(foreign, { mode: 0o700 });
      chownSync(foreign, 12_345, 12_345);
    }
    expect(() => {
      prepareFolder(foreign);
    }).toThrow(`${foreign} belongs to user ${isRoot ? 12_345 : 0}`);
  });
});
