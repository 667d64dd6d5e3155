import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { kinds, readIndex, slugOf, wronglyListed } from '../../site/pages.js';

const root = join(import.meta.dirname, '..', '..');
const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((page) => existsSync(join(root, page)));

describe('the pages of docs/', () => {
  test('have a kind, which is their folder', () => {
    const folders = readdirSync(join(root, 'docs')).filter((name) => !['images', 'index.md'].includes(name));
    expect(folders.toSorted()).toEqual(kinds.toSorted());
  });

  test.each(kinds)('of docs/%s are each listed once by its index page', (kind) => {
    expect(readIndex(kind).groups.flatMap(({ links }) => links).length).toBeGreaterThan(1);
    expect(wronglyListed(kind)).toEqual([]);
  });

  test('of docs/decisions are listed in their order by number and title', () => {
    const files = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d/.test(name));
    expect(files.length).toBeGreaterThan(50);
    expect(readIndex('decisions').groups.flatMap(({ links }) => links)).toEqual(
      files
        .toSorted()
        .map((name) => ({ text: titleOf(`docs/decisions/${name}`), page: `decisions/${name}` })),
    );
  });
});

test('links between pages lead to files and headings that exist', () => {
  const links = pages.flatMap((page) => linksOf(page).map((target) => ({ page, target })));
  expect(links.length).toBeGreaterThan(500);
  expect(links.filter(({ page, target }) => !exists(page, target))).toEqual([]);
});

test.each([
  ['README.md#no-such-heading', false],
  ['docs/index.md', true],
  ['docs/guides/absent.md', false],
])('the check of links finds whether %s exists', (target, isThere) => {
  expect(exists('CHANGELOG.md', target)).toBe(isThere);
});

function linksOf(page: string): readonly string[] {
  return [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function exists(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : posix.join(dirname(page), path);
  if (!existsSync(join(root, file))) return false;
  return anchor === undefined || headingsOf(file).includes(anchor);
}

function headingsOf(page: string): readonly string[] {
  const slugs: string[] = [];
  for (const [, heading = ''] of textOf(page).matchAll(/^#+ (.+)$/gm)) {
    const slug = slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
    const earlier = slugs.filter((one) => one.replace(/-\d+$/, '') === slug).length;
    slugs.push(earlier === 0 ? slug : `${slug}-${earlier}`);
  }
  return slugs;
}

/** Without blocks of code and code spans. */
function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8')
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
    .replaceAll(/(?<!^#.*)`[^`\n]*`(?!\])/gm, '');
}

function titleOf(page: string): string {
  return (/^# (.+)$/m.exec(readFileSync(join(root, page), 'utf8'))?.[1] ?? '').replaceAll('`', '');
}
