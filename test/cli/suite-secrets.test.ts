import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { suiteOf } from '../../src/cli/plugin/suite-options.js';
import { loadConfig } from '../../src/config/index.js';
import { findPlugins } from '../../src/plugins/find-plugins.js';
import { readPluginSuite } from '../../src/schema/plugin-suite.js';
import { runSuite, type CaseOutcome } from '../../src/testing/run-suite.js';
import { newFolder } from '../harness/folder.js';
import { writeFiles } from '../harness/programs/bench.js';

const secret = 'value-of-the-environment';
const textField = { title: 'Text', type: 'string' };

/** Fails, and keeps and shows what it got. */
const thief = `#!/bin/sh
task=$(cat)
printf '%s\\n' "$task" >> "$STOLEN"
printf '%s' "$task" | tr -d '"\\\\\\\\' >&2
echo '{"status": 1, "error": {"kind": "Invalid", "message": "no"}}'
`;

let folder: string;
beforeEach(() => {
  folder = newFolder();
});
const stolen = (): string => join(folder, 'stolen');
const seen = (): string => (existsSync(stolen()) ? readFileSync(stolen(), 'utf8') : '');

const common = { version: '1.0.0', description: 'A plugin of a stranger', command: ['./p.sh'] };
const descriptors = {
  provider: {
    name: 'p',
    type: 'provider',
    fields: { admin: { endpoint: textField, apiKey: { ...textField, secret: true } }, user: {} },
  },
  automator: { name: 'p', type: 'automator', fields: { admin: {}, user: { script: textField } } },
};

function settle(
  type: 'provider' | 'automator',
  suite: object,
  { chosenBy = 'plugin', allow }: { readonly chosenBy?: 'user' | 'plugin'; readonly allow?: string[] } = {},
) {
  const place = `plugins/${type}s/p`;
  writeFiles(folder, {
    [`${place}/p.json`]: { ...descriptors[type], ...common, environment: { STOLEN: stolen() } },
    [`${place}/p.sh`]: thief,
    [`${place}/p.suite.yaml`]: suite,
    'heddle.yaml': allow === undefined ? {} : { secrets: { allow } },
  });
  const { found, problems } = findPlugins([join(folder, 'plugins')]);
  const [plugin] = found;
  if (plugin === undefined) throw new Error(JSON.stringify(problems));
  const file = join(folder, place, 'p.suite.yaml');
  const reading = readPluginSuite(file, type);
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const config = loadConfig({
    configFlag: join(folder, 'heddle.yaml'),
    env: { HOME: folder, AWS_SECRET_ACCESS_KEY: secret },
  });
  return suiteOf(plugin, { suite: reading.suite, file, chosenBy }, config);
}

const outcomesOf = (...words: Parameters<typeof settle>): Promise<readonly CaseOutcome[]> => {
  const suite = settle(...words);
  return runSuite(suite, { only: ['life', 'actions'] });
};

const reference = { secret: 'env:AWS_SECRET_ACCESS_KEY' };
const account = {
  admin: { endpoint: 'https://stranger.example', apiKey: reference },
  flavor: 'f',
  image: 'i',
};
const quietly = { patience: '1s' };

// Promise: suites-of-plugins
test.each([
  ['provider', { account }, 'account.admin.apiKey'],
  [
    'provider',
    { account: { ...account, admin: { endpoint: 'x' }, silent: { apiKey: reference } } },
    'account.silent.apiKey',
  ],
  ['automator', { action: { script: reference } }, 'action.script'],
  ['automator', { admin: { key: reference } }, 'admin.key'],
  [
    'automator',
    { node: { host: 'h', user: 'u', privateKey: reference, hostKey: 'ssh-ed25519 AAAA' } },
    'node.privateKey',
  ],
] as const)('the own settings of a %s get no secret: %j', (type, suite, place) => {
  for (const allow of [undefined, [], ['env:OTHER']])
    expect(() => settle(type, suite, allow === undefined ? {} : { allow: [...allow] })).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(`${place} refers to a secret, and the file is the plugin's own`),
        next: expect.stringMatching(/^heddle plugins test p --settings .*p\.suite\.yaml$/),
      }),
    );
});

test('settings that the user names get their secrets, and so do those that heddle.yaml lists', async () => {
  await outcomesOf('provider', { account, ...quietly }, { chosenBy: 'user' });
  expect(seen()).toContain(secret);
  writeFileSync(stolen(), '');
  await outcomesOf('provider', { account, ...quietly }, { allow: ['env:AWS_*'] });
  expect(seen()).toContain(secret);
});

test('the own settings of a plugin name a file to upload only in its folder', () => {
  const upload = (file: string) => ({
    account: { ...account, admin: { endpoint: 'x' }, upload: { file, format: 'raw' } },
  });
  const key = join(folder, 'id_rsa');
  writeFiles(folder, {
    id_rsa: 'key',
    'plugins/providers/p/small.raw': 'image',
    'plugins/providers/p/.hidden/image.raw': 'image',
    // Exists below the plugin's folder, too.
    [`plugins/providers/p${key}`]: 'image',
  });
  symlinkSync(key, join(folder, 'plugins/providers/p/.hidden/link.raw'));
  for (const file of ['../../../id_rsa', key, '.hidden/link.raw', 'absent.raw'])
    expect(() => settle('provider', upload(file))).toThrow("is outside the plugin's folder");
  expect(() => settle('provider', upload('small.raw'))).not.toThrow();
  expect(() => settle('provider', upload('../../../id_rsa'), { chosenBy: 'user' })).not.toThrow();
});
