import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { newFolder } from '../harness/folder.js';

const root = join(import.meta.dirname, '../..');

interface PackTool {
  readonly pack: (folder: string) => Promise<string>;
  readonly toShrinkwrap: (lock: Lock) => Lock;
}
const { pack, toShrinkwrap } = (await import(
  pathToFileURL(join(root, 'tools', 'pack.mjs')).href
)) as PackTool;

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly version?: string;
        readonly integrity?: string;
        readonly dev?: boolean;
        readonly devOptional?: boolean;
        readonly optional?: boolean;
        readonly dependencies?: Readonly<Record<string, string>>;
        readonly devDependencies?: Readonly<Record<string, string>>;
      }
    >
  >;
}

const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;

describe('the package', () => {
  let folder: string;
  let file: string;
  beforeAll(async () => {
    folder = newFolder();
    file = await pack(folder);
  }, 60_000);

  const tar = (...words: readonly string[]): string =>
    execFileSync('tar', words, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  const contentOf = (path: string): string => tar('-xzOf', file, `package/${path}`);

  test('contains the product, no state of the build, and no source maps without sources', () => {
    const paths = tar('-tzf', file)
      .split('\n')
      .filter((path) => path !== '')
      .map((path) => path.replace(/^package\//, ''));
    expect(paths).toEqual(
      expect.arrayContaining([
        'bin/heddle.mjs',
        'dist/workflow-bundle.js',
        'dist/client/index.d.ts',
        'npm-shrinkwrap.json',
      ]),
    );
    expect(paths.filter((path) => /\.map$|\/\.|tsbuildinfo|package-lock/.test(path))).toEqual([]);
    expect(contentOf('package.json')).toBe(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(tar('-tvzf', file, 'package/bin/heddle.mjs')).toMatch(/^-rwxr-xr-x/);
  });

  test('locks the dependencies of the product, and nothing else', () => {
    const { packages } = JSON.parse(contentOf('npm-shrinkwrap.json')) as Lock;
    const { dependencies = {} } = JSON.parse(contentOf('package.json')) as Lock['packages'][string];
    expect(packages['']?.dependencies).toEqual(dependencies);
    expect(packages['']).not.toHaveProperty('devDependencies');
    for (const [name, version] of Object.entries(dependencies))
      expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
    for (const [path, entry] of Object.entries(packages)) {
      if (path !== '') expect([path, entry]).toEqual([path, locked.packages[path]]);
      expect([path, entry.dev]).toEqual([path, undefined]);
    }
    const developers = Object.entries(locked.packages).filter(([, { dev }]) => dev === true);
    expect(developers.length).toBeGreaterThan(50);
    expect(Object.keys(packages).length).toBe(Object.keys(locked.packages).length - developers.length);
  });

  test('is one that npm installs completely from its lock', () => {
    const copy = join(folder, 'package');
    tar('-xzf', file, '-C', folder);
    // Fails if an entry is missing that the remaining ones need.
    const listed = execFileSync('npm', ['ls', '--package-lock-only', '--all', '--omit=dev', '--parseable'], {
      cwd: copy,
      encoding: 'utf8',
    });
    expect(listed).toContain(join('node_modules', '@temporalio', 'worker'));
    expect(listed).not.toContain('vitest');
    const shrinkwrap = join(copy, 'npm-shrinkwrap.json');
    const { packages, ...rest } = JSON.parse(readFileSync(shrinkwrap, 'utf8')) as Lock;
    const { 'node_modules/ssh2': _, ...others } = packages;
    writeFileSync(shrinkwrap, JSON.stringify({ ...rest, packages: others }));
    expect(() =>
      execFileSync('npm', ['ls', '--package-lock-only', '--all', '--omit=dev'], {
        cwd: copy,
        stdio: 'ignore',
      }),
    ).toThrow('npm ls');
  });

  test('is made without a change of the folder, also several times at once', async () => {
    const more = ['a', 'b'].map((name) => mkdtempSync(join(folder, name)));
    const files = await Promise.all(more.map((each) => pack(each)));
    expect(files.map((each) => existsSync(each))).toEqual([true, true]);
    // npm would prefer it to package-lock.json.
    expect(existsSync(join(root, 'npm-shrinkwrap.json'))).toBe(false);
  }, 60_000);
});

test('a shrinkwrap keeps what developers and users both need, optional packages included', () => {
  const packages = {
    '': { dependencies: { a: '1' }, devDependencies: { b: '1' } },
    'node_modules/a': {},
    'node_modules/b': { dev: true },
    'node_modules/both': { devOptional: true },
    'node_modules/platform': { optional: true },
    'node_modules/ofB': { dev: true, optional: true },
  };
  expect(toShrinkwrap({ packages })).toEqual({
    packages: {
      '': { dependencies: { a: '1' } },
      'node_modules/a': {},
      'node_modules/both': { devOptional: true },
      'node_modules/platform': { optional: true },
    },
  });
});
