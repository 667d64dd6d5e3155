import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const folder = join(root, '.github/workflows');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      { readonly uses?: string; readonly steps?: readonly Step[]; readonly 'timeout-minutes'?: number }
    >
  >;
}
interface Step {
  readonly uses?: string;
  readonly run?: string;
}

describe.each(readdirSync(folder))('the workflow %s', (name) => {
  const text = read(`.github/workflows/${name}`);
  const { jobs, permissions } = parse(text) as Workflow;
  const commands = Object.values(jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run = [] }) => run));

  test('calls only scripts and files that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Record<string, string> };
    const called = commands.flatMap((command) =>
      [...command.matchAll(/\bnpm (?:run )?(test|[\w:]+)(?= |$)/gm)]
        .map(([, script = '']) => script)
        .filter((script) => !['publish', 'ci'].includes(script)),
    );
    expect(called.length).toBeGreaterThan(0);
    expect(called.filter((script) => !(script in scripts))).toEqual([]);
    const files = commands.flatMap((command) =>
      [...command.matchAll(/\b(?:node|bash) ([\w./-]+)/g)].map(([, file = '']) => file),
    );
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test('pins each action by its commit, and names its release', () => {
    const lines = text.split('\n').filter((line) => /\buses:/.test(line));
    for (const line of lines)
      expect(line).toMatch(
        /uses: (?:\.\/\.github\/workflows\/[\w.-]+|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/,
      );
  });

  test('grants by default only to read, and ends a job that hangs', () => {
    expect(permissions).toEqual({ contents: 'read' });
    const limits = Object.values(jobs).filter(({ uses }) => uses === undefined);
    expect(limits.map((job) => typeof job['timeout-minutes'])).toEqual(limits.map(() => 'number'));
  });
});

test('one job of a release has an identity of its own: that which publishes the package', () => {
  const { jobs } = parse(read('.github/workflows/release.yml')) as {
    readonly jobs: Readonly<Record<string, { readonly permissions?: Readonly<Record<string, string>> }>>;
  };
  const identified = Object.entries(jobs).filter(([, { permissions = {} }]) => 'id-token' in permissions);
  expect(identified.map(([name]) => name)).toEqual(['package']);
});

test('package.json, CI, the tests of the package and the page on support name the same releases of Node', async () => {
  const { nodeReleases } = (await import(pathToFileURL(join(root, 'tools/node-releases.mjs')).href)) as {
    readonly nodeReleases: readonly string[];
  };
  const [oldest = '', ...others] = nodeReleases;
  const named = [oldest.replace(/\.0$/, ''), ...others.map((release) => release.split('.', 1)[0])];
  const { engines, devDependencies } = JSON.parse(read('package.json')) as {
    readonly engines: { readonly node: string };
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  expect(engines.node).toBe(`>=${named[0]}`);
  expect(devDependencies['@types/node']).toBe(`^${oldest}`);
  const { jobs } = parse(read('.github/workflows/ci.yml')) as {
    readonly jobs: {
      readonly test: { readonly strategy: { readonly matrix: { readonly node: unknown[] } } };
    };
  };
  expect(jobs.test.strategy.matrix.node.map(String)).toEqual([oldest, ...named.slice(1)]);
  const support = read('docs/reference/support.md');
  expect(support).toContain(`| Node.js | ${named[0]} and newer`);
  expect(support).toContain(
    `the installed package on ${named.slice(0, -1).join(', ')} and ${named.at(-1)}, by`,
  );
});

test('the forms for issues are complete YAML with unique fields', () => {
  const forms = readdirSync(join(root, '.github/ISSUE_TEMPLATE')).filter((name) => name !== 'config.yml');
  expect(forms.length).toBeGreaterThan(1);
  for (const form of forms) {
    const { name, description, body } = parse(read(`.github/ISSUE_TEMPLATE/${form}`)) as {
      readonly name: string;
      readonly description: string;
      readonly body: readonly { readonly type: string; readonly id?: string }[];
    };
    expect([form, typeof name, typeof description]).toEqual([form, 'string', 'string']);
    const ids = body.flatMap(({ type, id }) => (type === 'markdown' ? [] : [id]));
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(ids.length);
  }
});

test('all documents name the repository of package.json', () => {
  const { repository } = JSON.parse(read('package.json')) as {
    readonly repository: { readonly url: string };
  };
  const pages = execFileSync('git', ['ls-files', '*.md', '*.yml'], { cwd: root, encoding: 'utf8' }).trim();
  const named = pages
    .split('\n')
    .flatMap((page) =>
      [...read(page).matchAll(/https:\/\/github\.com\/[\w-]+\/heddle\b/g)].map(([url]) => url),
    );
  expect(new Set(named)).toEqual(new Set([repository.url.replace(/^git\+(.*)\.git$/, '$1')]));
});

describe('the notes of a release', async () => {
  const { releaseNotes } = (await import(pathToFileURL(join(root, 'tools/release-notes.mjs')).href)) as {
    readonly releaseNotes: (tag: string, version: string, changelog: string) => string;
  };
  const log =
    '# Changelog\n\n## [0.3.0] - Unreleased\n\nNew\n\n## [0.2.0] - 2027-01-02\n\nThe first.\n\n- One\n\n## [0.1.0]\n';

  test('are its section of the changelog', () => {
    expect(releaseNotes('v0.2.0', '0.2.0', log)).toBe('The first.\n\n- One\n');
  });

  test.each([
    ['v0.2.1', '0.2.0', 'the tag is v0.2.1, but package.json has version 0.2.0'],
    ['v0.3.0', '0.3.0', 'the section 0.3.0 of CHANGELOG.md has no date: "[0.3.0] - Unreleased"'],
    ['v0.4.0', '0.4.0', 'CHANGELOG.md has no section 0.4.0'],
  ])('of tag %s and version %s are refused', (tag, version, message) => {
    expect(() => releaseNotes(tag, version, log)).toThrow(message);
  });

  test('exist for the version of the package', () => {
    const { version } = JSON.parse(read('package.json')) as { readonly version: string };
    expect(read('CHANGELOG.md')).toContain(`## [${version}]`);
  });
});
