import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

interface Metadata {
  readonly repository: { readonly url: string };
  readonly homepage: string;
  readonly bugs: { readonly url: string };
  readonly keywords: readonly string[];
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;

describe('the package', () => {
  let folder: string;
  let file: string;
  beforeAll(async () => {
    folder = newFolder();
    file = await pack(folder);
  });

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
        'dist/cli-bundle/main.js',
        'dist/cli-bundle/LICENSES.txt',
        'dist/workflow-bundle.js',
        'dist/client/index.d.ts',
        'docs/reference/cli.md',
        'npm-shrinkwrap.json',
      ]),
    );
    expect(paths.filter((path) => /\.map$|\/\.|tsbuildinfo|package-lock/.test(path))).toEqual([]);
    // The bundle has them.
    expect(paths.filter((path) => /^dist\/cli\/.*\.(?:js|d\.ts)$/.test(path))).toEqual([]);
    expect(contentOf('package.json')).toBe(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(tar('-tvzf', file, 'package/bin/heddle.mjs')).toMatch(/^-rwxr-xr-x/);
  });

  test('has pages whose links lead to files of the package, or to the repository at its release', () => {
    const copy = newFolder();
    tar('-xzf', file, '-C', copy);
    const pages = tar('-tzf', file)
      .split('\n')
      .filter((path) => path.endsWith('.md'));
    const links = pages.flatMap((page) =>
      [...readFileSync(join(copy, page), 'utf8').matchAll(/\]\(([^)\s#]+)/g)].map(([, link = '']) => ({
        page,
        link,
      })),
    );
    const { version } = JSON.parse(contentOf('package.json')) as { readonly version: string };
    const decision = `/blob/v${version}/docs/decisions/0001-facts-decide.md`;
    expect(links.filter(({ link }) => link.endsWith(decision)).length).toBeGreaterThan(0);
    const relative = links.filter(({ link }) => !/^[a-z]+:/.test(link));
    expect(relative.length).toBeGreaterThan(300);
    expect(relative.filter(({ page, link }) => !existsSync(join(copy, dirname(page), link)))).toEqual([]);
  });

  test('is smaller than 3 MB and tells npm where the project is', () => {
    expect(statSync(file).size).toBeLessThan(3_000_000);
    const { repository, homepage, bugs, keywords } = JSON.parse(contentOf('package.json')) as Metadata;
    const page = repository.url.replace(/^git\+(.*)\.git$/, '$1');
    expect(page).toMatch(/^https:\/\/github\.com\/[\w-]+\/heddle$/);
    expect({ homepage, bugs }).toEqual({ homepage: `${page}#readme`, bugs: { url: `${page}/issues` } });
    expect(keywords).toContain('temporal');
  });

  test('has every declaration that the types of its exports need, and no paths of this folder', () => {
    const copy = join(folder, 'package');
    tar('-xzf', file, '-C', folder);
    const { exports } = JSON.parse(contentOf('package.json')) as Metadata;
    const entries = Object.values(exports).flatMap((entry) =>
      typeof entry === 'string' ? [] : [entry.types],
    );
    expect(entries.length).toBeGreaterThan(5);
    const rest = entries.map((entry) => join(copy, entry));
    const seen = new Set<string>();
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      const text = readFileSync(next, 'utf8');
      for (const [, name = ''] of text.matchAll(/['"](\.{1,2}\/[^'"]*)\.js['"]/g))
        rest.push(join(dirname(next), `${name}.d.ts`));
    }
    expect(seen.size).toBeGreaterThan(entries.length);
    const map = contentOf('dist/workflow-bundle.js').split('base64,').at(-1) ?? '';
    expect(Buffer.from(map, 'base64').toString()).toContain('src/workflows/');
    expect(Buffer.from(map, 'base64').toString()).not.toContain(root);
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

  test('has all that the command line needs', () => {
    const copy = join(folder, 'package');
    tar('-xzf', file, '-C', folder);
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const heddle = (...words: readonly string[]): string =>
      execFileSync(process.execPath, [join(copy, 'bin/heddle.mjs'), ...words], {
        cwd: folder,
        encoding: 'utf8',
      });
    expect(heddle('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
    heddle('plugin', 'new', 'provider', 'shelf');
    expect(existsSync(join(folder, 'providers/shelf/shelf.json'))).toBe(true);
  });

  test('is made without a change of the folder, also several times at once', async () => {
    const more = ['a', 'b'].map((name) => mkdtempSync(join(folder, name)));
    const files = await Promise.all(more.map((each) => pack(each)));
    expect(files.map((each) => existsSync(each))).toEqual([true, true]);
    // npm would prefer it to package-lock.json.
    expect(existsSync(join(root, 'npm-shrinkwrap.json'))).toBe(false);
  });
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
