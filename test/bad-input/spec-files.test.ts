import { readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { formatProblem } from '../../src/schema/problem.js';
import { loadSpecFile } from '../../src/schema/cluster/read.js';
import { fc } from '../harness/property.js';
import { newFolder } from '../harness/folder.js';

// Through the reader of `heddle apply` and `heddle plan`, which asks no server before the file is right.
const good =
  'name: web\nnodes:\n  app: {count: 1, provider: p, services: [s]}\nservices:\n  s:\n    actions:\n      start: {type: shell, fields: {script: "true"}}\n';

let folder: string;
beforeAll(() => {
  folder = newFolder();
});

async function told(text: string | Uint8Array): Promise<string> {
  const file = join(folder, 'c.yaml');
  await writeFile(file, text);
  const reading = loadSpecFile(file);
  expect(await readdir(folder)).toEqual(['c.yaml']);
  return reading.ok ? 'nothing' : reading.problems.map(formatProblem).join('\n').replaceAll(file, 'c.yaml');
}

const named = (name: string): string => good.replace('name: web', `name: ${JSON.stringify(name)}`);
const counted = (count: string): string => good.replace('count: 1', `count: ${count}`);
const scripted = (script: string): string => good.replace('"true"', script);
const anchors = Array.from(
  { length: 12 },
  (_, index) =>
    `  a${index}: &a${index} [${index === 0 ? 'x' : Array.from({ length: 9 }, () => `*a${index - 1}`).join(', ')}]`,
).join('\n');

describe('a cluster file', () => {
  it('is accepted with CRLF and a byte order mark', async () => {
    expect(await told(good)).toBe('nothing');
    expect(await told(`\uFEFF${good.replaceAll('\n', '\r\n')}`)).toBe('nothing');
  });

  it.each([
    '',
    '-web',
    '-oProxyCommand=touch /tmp/x',
    '$(id)',
    '`id`',
    'a;b',
    'a\nb',
    'a\0b',
    '..',
    'a/b',
    '/etc',
    'a'.repeat(41),
    'wéb',
    '\u202Eweb',
    '::1',
    'Web',
    'a b',
    'web.',
  ])('cannot be called %j', async (name) => {
    const words = await told(named(name));
    expect(words).toMatch(/^c\.yaml:1:1: name: .*[Ll]ower-case letters, digits and hyphens/);
    expect(words.length).toBeLessThan(400);
    expect(words).not.toMatch(/[^\P{Cc}\n]|\u202E/u);
  });

  it.each<readonly [string, string | Uint8Array, RegExp]>([
    ['no node', counted('0'), /c\.yaml:3:9: nodes\.app\.count: /],
    ['less than no node', counted('-1'), /nodes\.app\.count: /],
    ['1e9 nodes', counted('1e9'), /nodes\.app\.count: .*10000/],
    ['a count that is text', counted('"3"'), /nodes\.app\.count: .*"3"/],
    ['not a number', counted('.nan'), /nodes\.app\.count/],
    ['infinity', counted('.inf'), /nodes\.app\.count/],
    ['half a node', counted('1.5'), /nodes\.app\.count: /],
    [
      'a circle of services',
      good.replace('    actions', '    requires: [s]\n    actions'),
      /circular dependencies: s -> s/,
    ],
    [
      'an unknown action',
      good.replace('start:', 'strat:'),
      /c\.yaml:7:7: services\.s\.actions\.strat: .*Did you mean "start"/,
    ],
    [
      'an unknown key',
      good.replace('count: 1,', 'count: 1, cuont: 1,'),
      /c\.yaml:3:\d+: nodes\.app\.cuont: is an unknown key. Did you mean "count"/,
    ],
    ['__proto__', `${good}__proto__: {a: 1}\n`, /__proto__: is a forbidden key/],
    ['__proto__ as a service', good.replace('  s:', '  __proto__:'), /__proto__/],
    ['constructor', good.replace('"true"', '"true", constructor: {}'), /constructor: is a forbidden key/],
    [
      'depth 10,000',
      scripted('['.repeat(10_000) + ']'.repeat(10_000)),
      /c\.yaml:7:\d+: is nested deeper than 64 levels/,
    ],
    [
      'depth 10,000 by lines',
      Array.from({ length: 10_000 }, (_, index) => `${' '.repeat(index % 80)}a:`).join('\n'),
      /c\.yaml:\d+:\d+: /,
    ],
    ['3 MB', scripted(JSON.stringify('x'.repeat(3_000_000))), /1048576/],
    ['a key twice', `${good}name: web\n`, /c\.yaml:8:1: duplicate key "name"/],
    ['a service twice', good.replace('  s:', '  s: {}\n  s:'), /duplicate key "s"/],
    ['half a character', scripted('"\\uD800"'), /contains an unpaired surrogate/],
    [
      'bytes that are not text',
      Buffer.concat([Buffer.from('name: '), Buffer.from([0xff, 0xfe])]),
      /is not UTF-8 text/,
    ],
    ['UTF-16', Buffer.from(`\uFEFF${good}`, 'utf16le'), /is not UTF-8 text/],
    ['nothing', '', /the file is empty/],
    ['a comment alone', '# nothing\n', /the file is empty/],
    ['a list', '- a\n', /a spec must be a mapping/],
    ['a text', 'web\n', /a spec must be a mapping/],
    ['aliases that explode', `${good}config:\n${anchors}\n`, /aliases|exceeds the limit/],
    ['an alias of nothing', scripted('*nothing'), /c\.yaml:7:\d+: alias \*nothing has no anchor/],
    ['a tag', scripted('!!js/function "x"'), /unknown tag "!!js\/function"/],
    ['two documents', `${good}---\n${good}`, /c\.yaml:8:1|second document/],
    ['tabs', good.replace('  app', '\tapp'), /tab/],
    ['a NUL', scripted('"a\\0b"'), /NUL|control|\\u0000|nothing/],
  ])('with %s is refused where it stands', async (_, text, expected) => {
    const words = await told(text);
    expect(words).toMatch(expected);
    expect(words.length).toBeLessThan(40_000);
  });

  it('is named in the error if it is a folder, a device, absent or a dangling link', async () => {
    expect(loadSpecFile(folder)).toMatchObject({ ok: false });
    expect(loadSpecFile('/dev/zero')).toMatchObject({
      ok: false,
      problems: [{ wrong: expect.stringContaining('not a regular file') as string }],
    });
    expect(loadSpecFile(join(folder, 'absent.yaml'))).toMatchObject({
      ok: false,
      problems: [{ wrong: expect.stringContaining('no such file') as string }],
    });
    await symlink('nowhere', join(folder, 'link.yaml'));
    expect(loadSpecFile(join(folder, 'link.yaml'))).toMatchObject({ ok: false });
    await rm(join(folder, 'link.yaml'));
  });

  it('of any text never throws, and always gives the place', async () => {
    const pieces = fc.constantFrom(
      ...good.split(/(?<=[\s:,{}[\]])/),
      '&a ',
      '*a ',
      '!x ',
      '- ',
      '? ',
      '| ',
      '"',
      "'",
      '\0',
      '\uFEFF',
      '\u2028',
      '<<: ',
      '%YAML 1.1\n',
      '---\n',
      '...\n',
      '{',
      ']',
      '\t',
      '1e999',
      '~',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 60 }), async (parts) => {
        const words = await told(parts.join(''));
        if (words !== 'nothing') expect(words).toMatch(/^c\.yaml:\d+:\d+: /);
      }),
      { numRuns: 300 },
    );
  });
});
