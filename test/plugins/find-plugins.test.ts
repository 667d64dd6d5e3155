import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { findPlugins } from '../../src/plugins/find-plugins.js';
import { formatProblem } from '../../src/schema/problem.js';
import { writeFiles } from '../harness/programs/bench.js';
import { newFolder } from '../harness/folder.js';

let root: string;
beforeEach(() => {
  root = newFolder();
});

/** What is wrong with a program in the folder. */
function problemsOf(more: object, type: 'provider' | 'automator' = 'provider'): string {
  const descriptor = {
    name: 'cloud',
    type,
    version: '1.0.0',
    description: 'One of a test.',
    command: ['true'],
  };
  writeFiles(root, { [`${type}s/cloud/cloud.json`]: JSON.stringify({ ...descriptor, ...more }) });
  return findPlugins([root]).problems.map(formatProblem).join('\n');
}

describe('the scan of plugin folders', () => {
  test('finds a program with optional methods', () => {
    expect(problemsOf({ abilities: ['list', 'find'] })).toBe('');
    expect(problemsOf({ abilities: ['sanitize'] }, 'automator')).toBe('');
  });

  test.each([
    ['lsit', 'abilities[0]: lsit is not an optional method of providers. Did you mean "list"?'],
    ['sanitize', 'abilities[0]: sanitize is not an optional method of providers'],
  ])('refuses the optional method %s of a provider', (ability, message) => {
    expect(problemsOf({ abilities: [ability] })).toContain(message);
  });

  test.each(['shared.sh', 'lib'])(
    'refuses a link to %s outside of the folder, as a worker does',
    (target) => {
      writeFiles(root, { 'shared.sh': '', 'lib/a.sh': '', 'providers/cloud/own.sh': '' });
      symlinkSync(join('../..', target), join(root, 'providers/cloud/link'));
      expect(problemsOf({})).toContain(
        "contains link, a link to a file outside the plugin's folder. Copy the file into the folder",
      );
    },
  );

  test('includes the fields of a file in the folder, which the descriptor can replace', () => {
    const field = (title: string) => ({ title, type: 'string' });
    const shared = { admin: { a: field('A'), b: field('B') }, required: { admin: [['a']] } };
    writeFiles(root, { 'providers/cloud/shared.fields.json': JSON.stringify(shared) });
    const own = { admin: { b: field('Own'), c: field('C') } };
    expect(problemsOf({ include: './shared.fields.json', fields: own })).toBe('');
    expect(findPlugins([root]).found[0]?.descriptor.fields).toEqual({
      admin: { a: field('A'), b: field('Own'), c: field('C') },
      user: {},
      required: { admin: [['a']], user: [] },
    });
  });

  test.each<readonly [string, unknown, string]>([
    ['./none.fields.json', {}, 'include: ./none.fields.json does not exist'],
    ['../../shared.fields.json', {}, "include: ../../shared.fields.json is outside the plugin's folder"],
    ['./cloud.json', {}, 'include: "./cloud.json" is not valid'],
    ['./wrong.fields.json', { admin: { a: { type: 'string' } } }, 'wrong.fields.json:1'],
  ])('refuses to include %s', (include, wrong, message) => {
    writeFiles(root, {
      'shared.fields.json': '{}',
      'providers/cloud/wrong.fields.json': JSON.stringify(wrong),
    });
    expect(problemsOf({ include })).toContain(message);
  });

  test('accepts a link within the folder, and one of a dependency', () => {
    writeFiles(root, {
      'providers/cloud/own.sh': '',
      'providers/cloud/node_modules/a/x': '',
      'lib/a.sh': '',
    });
    symlinkSync('own.sh', join(root, 'providers/cloud/link'));
    symlinkSync('../../../lib', join(root, 'providers/cloud/node_modules/lib'));
    expect(problemsOf({})).toBe('');
  });
});
