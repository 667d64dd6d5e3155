import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPluginSuite } from '../../src/schema/plugin-suite.js';
import { formatProblem } from '../../src/schema/problem.js';
import { newFolder } from '../harness/folder.js';

function problemsOf(text: string, type: 'provider' | 'automator'): readonly string[] {
  const folder = newFolder();
  const file = join(folder, 'my.suite.yaml');
  writeFileSync(file, text);
  const reading = readPluginSuite(file, type);
  return reading.ok
    ? []
    : reading.problems.map((problem) => formatProblem(problem).replace(`${folder}/`, ''));
}

test.each<readonly [string, 'provider' | 'automator', string]>([
  ['a cloud', 'provider', 'cloud: {}\n'],
  [
    'an account with an unreliable API',
    'provider',
    'endpoint: url\naccount: {admin: {url: "http://127.0.0.1:1"}, flavor: s, image: i, pageSize: 3}\nflaky: {refuseEvery: 5, loseEvery: 7}\n',
  ],
  [
    'a node and an action',
    'automator',
    'action: {play: "- shell: {{json script}}"}\nnode: {host: 127.0.0.1, user: root, password: {secret: "env:P"}, hostKey: "ssh-ed25519 AAAA"}\n',
  ],
])('the settings of a suite may have %s', (_, type, text) => {
  expect(problemsOf(text, type)).toEqual([]);
});

test.each<readonly [string, 'provider' | 'automator', readonly string[]]>([
  [
    'patience: 2m\n',
    'provider',
    ['my.suite.yaml:1:1: has neither cloud nor account. Set one: what the plugin creates machines in.'],
  ],
  [
    'cloud: {}\naccount: {admin: {}, flavor: s, image: i}\n',
    'provider',
    ['my.suite.yaml:1:1: cloud: cannot be combined with account. Remove one of them.'],
  ],
  [
    'account: {admin: {}, flavor: s, image: i}\nflaky: {loseEvery: 3}\n',
    'provider',
    ["my.suite.yaml:2:1: flaky: requires endpoint. Set it to the field with the API's address."],
  ],
  [
    'cloud: {}\nadmin: {}\n',
    'provider',
    ['my.suite.yaml:2:1: admin: applies only to automators, but the plugin is of type provider. Remove it.'],
  ],
  [
    'flaky: {loseEvery: 3}\n',
    'automator',
    ['my.suite.yaml:1:1: flaky: applies only to providers, but the plugin is of type automator. Remove it.'],
  ],
  [
    'cloud: {}\nflaky: {loseEvery: 1}\n',
    'provider',
    [expect.stringMatching(/^my\.suite\.yaml:2:9: flaky\.loseEvery: .*2/)],
  ],
  [
    'cloud: {lag: soon}\n',
    'provider',
    [expect.stringMatching(/^my\.suite\.yaml:1:9: cloud\.lag: "soon" is not a duration/)],
  ],
])('the settings %j are refused with their place', (text, type, problems) => {
  expect(problemsOf(text, type)).toEqual(problems);
});

test('settings that cannot be read are reported', () => {
  const folder = newFolder();
  mkdirSync(join(folder, 'my.suite.yaml'));
  expect(readPluginSuite(join(folder, 'my.suite.yaml'), 'automator')).toMatchObject({
    ok: false,
    problems: [{ wrong: 'cannot read the settings: it is a folder' }],
  });
});
